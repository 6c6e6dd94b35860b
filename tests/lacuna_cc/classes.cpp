// C++: types in classes, where calls that may throw are invokes and the function is left alone, and in templates.
#include <string>
#include <vector>

#include "check.h"

class Column {
 public:
  Column(int rows, int stride) {
    MPI_Type_vector(rows, 1, stride, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Column() { MPI_Type_free(&type_); }
  Column(const Column&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

static void in_a_class(int rows) {
  const Column column(rows, 5);
  std::vector<double> data(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = double(i) * 1.5;
  const std::string name = "a name that is long enough to need memory of its own " + std::to_string(rows);
  refill(1);
  if (rank == 0) {
    MPI_Send(data.data() + 3, 2, column.get(), 1, 4, MPI_COMM_WORLD);
  } else {
    MPI_Recv(got + 4096, 2, column.get(), 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  tell(name.c_str(), nullptr, column.get());
}

template <class T>
static MPI_Datatype type_of();
template <>
MPI_Datatype type_of<int>() { return MPI_INT; }
template <>
MPI_Datatype type_of<double>() { return MPI_DOUBLE; }

// Not in main, into which the class is inlined.
template <class T>
__attribute__((noinline)) static void blocks_of(const char* name) {
  MPI_Datatype type;
  MPI_Type_vector(6, 2, 5, type_of<T>(), &type);
  MPI_Type_commit(&type);
  refill(2);
  if (rank == 0) MPI_Send(sent + 4096, 1, type, 1, 4, MPI_COMM_WORLD);  // specialized
  if (rank == 1) MPI_Recv(got + 4096, 1, type, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  tell(name, nullptr, type);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  in_a_class(argc + 6);
  blocks_of<int>("int");
  blocks_of<double>("double");
  MPI_Finalize();
}
