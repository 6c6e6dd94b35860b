// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/files/file_calls.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/interpose/harness/harness.hpp"

namespace test {
namespace {

// Calls the function of a name, whose first arguments are the file and perhaps the offset.
template <typename... Rest>
int call_it(const std::string& name, bool at, MPI_File fh, MPI_Offset offset, Rest... rest) {
  if (at) {
    return newer<int (*)(MPI_File, MPI_Offset, Rest...)>(name.c_str())(fh, offset, rest...);
  }
  return newer<int (*)(MPI_File, Rest...)>(name.c_str())(fh, rest...);
}

template <typename Count>
int transfer_as(const FileCall& call, MPI_File fh, MPI_Offset offset, void* buf, Count count,
                MPI_Datatype type, MPI_Status* status) {
  const std::string name = call.counted();
  if (call.ending == Ending::kBlocking)
    return call_it(name, call.at, fh, offset, buf, count, type, status);
  if (call.ending == Ending::kRequest) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = call_it(name, call.at, fh, offset, buf, count, type, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, status);
  }
  const int code = call_it(name, call.at, fh, offset, buf, count, type);
  if (code != MPI_SUCCESS) return code;
  return newer<int (*)(MPI_File, void*, MPI_Status*)>((call.name + "_end").c_str())(fh, buf,
                                                                                    status);
}

int g_seen = MPI_SUCCESS;
void note_error(MPI_File*, int* code, ...) { g_seen = *code; }

void fail(const char* what) {
  std::fprintf(stderr, "file_calls: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

void return_errors(MPI_File fh) {
  MPI_Errhandler handler;
  MPI_File_create_errhandler(note_error, &handler);
  MPI_File_set_errhandler(fh, handler);
  MPI_Errhandler_free(&handler);
}

int file_error(int code) {
  const int seen = std::exchange(g_seen, MPI_SUCCESS);
  return class_of(code != MPI_SUCCESS ? code : seen);
}

std::string library_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  return version;
}

bool takes_requests([[maybe_unused]] bool reads) {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return true;
#elif defined(LACUNA_MPI_FAMILY_MPICH)
  return !library_version().starts_with("MPICH") && !reads;
#else
  return false;
#endif
}

std::string FileCall::counted() const {
  return name + (ending == Ending::kSplit ? "_begin" : "") + (large ? "_c" : "");
}

bool FileCall::exists() const { return newer_function(counted().c_str()) != nullptr; }

std::vector<FileCall> file_calls() {
  std::vector<FileCall> calls;
  for (const bool reads : {true, false}) {
    const std::string way = reads ? "read" : "write";
    for (const Ending ending : {Ending::kBlocking, Ending::kRequest, Ending::kSplit}) {
      for (const char* form : {"", "_all", "_at", "_at_all", "_shared", "_ordered"}) {
        const bool all = std::strstr(form, "_all") != nullptr;
        const bool ordered = std::strcmp(form, "_ordered") == 0;
        if (ending == Ending::kRequest && ordered) continue;
        if (ending == Ending::kSplit && !all && !ordered) continue;
        FileCall call{
            std::string("MPI_File_") + (ending == Ending::kRequest ? "i" : "") + way + form,
            reads,
            std::strncmp(form, "_at", 3) == 0,
            std::strcmp(form, "_shared") == 0 || ordered,
            all || ordered,
            ending};
        for (const bool large : {false, true}) {
          call.large = large;
          if (call.exists()) calls.push_back(call);
        }
      }
    }
  }
  return calls;
}

int transfer(const FileCall& call, MPI_File fh, MPI_Offset offset, void* buf, int count,
             MPI_Datatype type, MPI_Status* status) {
  if (!call.at && !call.shared) MPI_File_seek(fh, offset, MPI_SEEK_SET);
  if (call.large) return transfer_as(call, fh, offset, buf, MPI_Count{count}, type, status);
  return transfer_as(call, fh, offset, buf, count, type, status);
}

SharedFile::SharedFile() {
  char folder[512] = "";
  if (g_rank == 0) {
    const char* parent = std::getenv("TMPDIR");
    std::snprintf(folder, sizeof(folder), "%s/lacuna-files-XXXXXX",
                  parent != nullptr && *parent != '\0' ? parent : "/tmp");
    if (mkdtemp(folder) == nullptr) fail("no folder for the file");
  }
  MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
  path_ = std::string(folder) + "/file";
  if (MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &fh_) != MPI_SUCCESS) {
    fail("the file cannot be opened");
  }
  return_errors(fh_);
}

SharedFile::~SharedFile() {
  MPI_File_close(&fh_);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank != 0) return;
  unlink(path_.c_str());
  const std::string folder = path_.substr(0, path_.rfind('/'));
  // The shared pointer may be kept in a file beside.
  if (rmdir(folder.c_str()) != 0) std::system(("rm -rf " + folder).c_str());
}

void SharedFile::reset(int64_t length) const {
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) {
    Bytes bytes(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) bytes[static_cast<size_t>(i)] = background(i);
    std::FILE* file = std::fopen(path_.c_str(), "r+b");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fflush(file) != 0 || ftruncate(fileno(file), length) != 0) {
      fail("the file cannot be written");
    }
    std::fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

Bytes SharedFile::content() const {
  MPI_Barrier(MPI_COMM_WORLD);
  Bytes bytes;
  std::FILE* file = std::fopen(path_.c_str(), "rb");
  if (file == nullptr) fail("the file cannot be read");
  unsigned char some[4096];
  for (size_t n = 0; (n = std::fread(some, 1, sizeof(some), file)) > 0;)
    bytes.insert(bytes.end(), some, some + n);
  std::fclose(file);
  return bytes;
}

int View::set(MPI_File fh, const char* representation) const {
  MPI_Datatype part, type;
  MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &part);
  MPI_Type_create_resized(part, 0, stride, &type);
  MPI_Type_commit(&type);
  const int code = MPI_File_set_view(fh, first, MPI_BYTE, type, representation, MPI_INFO_NULL);
  MPI_Type_free(&part);
  MPI_Type_free(&type);
  return code;
}

Bytes packed_bytes(void* buf, int count, MPI_Datatype type) {
  lacuna(false);
  const int bytes = static_cast<int>(data_bytes(type, count));
  int room = 0, position = 0;
  MPI_Pack_size(count, type, MPI_COMM_SELF, &room);
  Bytes packed(static_cast<size_t>(room > bytes ? room : bytes) + 1);
  if (bytes > 0)
    MPI_Pack(buf, count, type, packed.data(), static_cast<int>(packed.size()), &position,
             MPI_COMM_SELF);
  CHECK(position == bytes);
  packed.resize(static_cast<size_t>(bytes));
  lacuna(true);
  return packed;
}

void unpack_bytes(const Bytes& bytes, void* buf, int count, MPI_Datatype type) {
  if (bytes.empty()) return;
  lacuna(false);
  int position = 0;
  MPI_Unpack(bytes.data(), static_cast<int>(bytes.size()), &position, buf, count, type,
             MPI_COMM_SELF);
  lacuna(true);
}

}  // namespace test
