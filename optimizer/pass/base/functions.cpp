// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/base/functions.hpp"

#include <llvm/ADT/STLExtras.h>

namespace lacuna::pass {

llvm::ArrayRef<Producer> producers() {
  static const Producer kTable[] = {
      {"MPI_Type_contiguous", "contiguous", "iho"},
      {"MPI_Type_vector", "vector", "iiiho"},
      {"MPI_Type_create_hvector", "hvector", "iiaho"},
      {"MPI_Type_indexed", "indexed", "iIIho"},
      {"MPI_Type_create_hindexed", "hindexed", "iIAho"},
      {"MPI_Type_create_indexed_block", "indexed_block", "iiIho"},
      {"MPI_Type_create_hindexed_block", "hindexed_block", "iiAho"},
      {"MPI_Type_create_struct", "struct", "iIAHo"},
      {"MPI_Type_create_resized", "resized", "haao"},
      {"MPI_Type_create_subarray", "subarray", "iIIIiho"},
      {"MPI_Type_dup", "dup", "ho"},
      {"MPI_Type_contiguous_c", "contiguous", "nho"},
      {"MPI_Type_vector_c", "vector", "nnnho"},
      {"MPI_Type_create_hvector_c", "hvector", "nnaho"},
      {"MPI_Type_indexed_c", "indexed", "nNNho"},
      {"MPI_Type_create_hindexed_c", "hindexed", "nNAho"},
      {"MPI_Type_create_indexed_block_c", "indexed_block", "nnNho"},
      {"MPI_Type_create_hindexed_block_c", "hindexed_block", "nnAho"},
      {"MPI_Type_create_struct_c", "struct", "nNAHo"},
      {"MPI_Type_create_resized_c", "resized", "haao"},
      {"MPI_Type_create_subarray_c", "subarray", "iNNNiho"},
      // The last argument is read, too: it holds the handle.
      {"MPI_Type_commit", "", "o"},
      {"MPI_Type_free", "", "o"},
      {"MPI_Comm_rank", "", "hr"},
      {"MPI_Comm_size", "", "hr"},
  };
  return kTable;
}

llvm::ArrayRef<Mover> movers() {
  static const std::vector<Mover> kTable = [] {
    std::vector<Mover> rows = {
        {"MPI_Send", "", 6, {{0, 1, 2}}, 3, 5},
        {"MPI_Recv", "", 7, {{0, 1, 2}}, 3, 5},
        {"MPI_Sendrecv", "", 12, {{0, 1, 2}, {5, 6, 7}}, 3, 10},
        {"MPI_Isend", "", 7, {{0, 1, 2}}, 3, 5, 6},
        {"MPI_Irecv", "", 7, {{0, 1, 2}}, 3, 5, 6},
        {"MPI_Bcast", "", 5, {{0, 1, 2}}, -1, 4, -1, Collective::kAll},
        {"MPI_Alltoall", "", 7, {{0, 1, 2}, {3, 4, 5}}, -1, 6, -1, Collective::kEach},
        // MPI_Pack_c and MPI_Unpack_c have templates of their own: the position is an MPI_Count,
        // too.
        {"MPI_Pack", "", 7, {{0, 1, 2}}, -1, 6},
        {"MPI_Unpack", "", 7, {{3, 4, 5}}, -1, 6},
        {"MPI_Pack_c", "", 7, {{0, 1, 2}}, -1, 6},
        {"MPI_Unpack_c", "", 7, {{3, 4, 5}}, -1, 6},
        {"MPI_Send_c", "MPI_Send"},
        {"MPI_Recv_c", "MPI_Recv"},
        {"MPI_Sendrecv_c", "MPI_Sendrecv"},
        {"MPI_Isend_c", "MPI_Isend"},
        {"MPI_Irecv_c", "MPI_Irecv"},
        {"MPI_Bcast_c", "MPI_Bcast"},
        {"MPI_Alltoall_c", "MPI_Alltoall"},
    };
    for (Mover& row : rows) {
      const llvm::StringRef name = row.name, form = row.form.empty() ? name : row.form;
      row = *llvm::find_if(rows, [&](const Mover& other) { return other.name == form; });
      row.name = name;
      row.form = form;
    }
    return rows;
  }();
  return kTable;
}

const Producer* producer(llvm::StringRef name) {
  const auto* found =
      llvm::find_if(producers(), [&](const Producer& row) { return row.name == name; });
  return found == producers().end() ? nullptr : found;
}

bool is_place(const Producer& row, unsigned index) {
  return index == 2 &&
         (row.text == "vector" || row.text == "indexed" || row.text == "indexed_block");
}

const Mover* mover(llvm::StringRef name) {
  const auto* found = llvm::find_if(movers(), [&](const Mover& row) { return row.name == name; });
  return found == movers().end() ? nullptr : found;
}

}  // namespace lacuna::pass
