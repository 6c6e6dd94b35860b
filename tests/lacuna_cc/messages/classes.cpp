// C++: types in classes and in templates, and calls that exceptions may leave: they are invokes.
#include <string>
#include <vector>

#include "../check.h"

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
    MPI_Send(data.data() + 3, 2, column.get(), 1, 4, MPI_COMM_WORLD);  // specialized
  } else {
    MPI_Recv(got + 4096, 2, column.get(), 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  }
  tell(name.c_str(), nullptr, column.get());
}

template <class T>
static MPI_Datatype type_of();
template <>
MPI_Datatype type_of<int>() { return MPI_INT; }
template <>
MPI_Datatype type_of<double>() { return MPI_DOUBLE; }

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

__attribute__((noinline)) static void may_throw(int number) {
  look_at(&number);
  if (number < 0) throw number;
}

__attribute__((noinline)) static void works(int number) noexcept { look_at(&number); }

// An object with a destructor around everything; the requests complete on every way.
__attribute__((noinline)) static void nonblocking(int number) {
  const Column column(8, 3);
  const std::vector<int> around(size_t(number) + 5, 1);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  refill(3);
  MPI_Irecv(got + 4096, 1, column.get(), other, 4, MPI_COMM_WORLD, &requests[0]);   // specialized
  MPI_Isend(sent + 4096, 1, column.get(), other, 4, MPI_COMM_WORLD, &requests[1]);  // specialized
  works(number);
  MPI_Waitall(2, requests, statuses);
  tell("nonblocking", rank == 1 ? &statuses[0] : nullptr, column.get());
  look_at(const_cast<int*>(around.data()));
}

// The frame may be left while the message is under way; what is caught is only one kind.
__attribute__((noinline)) static void thrown_between(int number) {
  const Column column(8, 3);
  MPI_Request in;
  refill(4);
  MPI_Irecv(got + 4096, 1, column.get(), other, 4, MPI_COMM_WORLD, &in);  // left: not proven
  try {
    may_throw(-number);
  } catch (int thrown) {
    works(thrown);
  }
  MPI_Send(sent + 4096, 1, column.get(), other, 4, MPI_COMM_WORLD);  // specialized
  MPI_Wait(&in, MPI_STATUS_IGNORE);
  tell("thrown between", nullptr, column.get());
}

// An error handler that throws: clean-up happens, and the program goes on.
static int cleaned_up;
struct Witness {
  ~Witness() { ++cleaned_up; }
};
static void throw_it(MPI_Comm*, int*, ...) { throw 7; }
__attribute__((noinline)) static void thrown_by_a_handler(int count) {
  const Column column(8, 3);
  MPI_Errhandler throwing;
  MPI_Comm_create_errhandler(throw_it, &throwing);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, throwing);
  int caught = 0;
  try {
    const Witness witness;
    MPI_Send(sent, count, column.get(), 0, 4, MPI_COMM_SELF);  // specialized
  } catch (int thrown) {
    caught = thrown;
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&throwing);
  if (rank == 1) printf("caught %d, cleaned up %d\n", caught, cleaned_up);
}

// What makes the type may be left by an exception, too; its end comes on two ways.
__attribute__((noinline)) static void left_early(int number) {
  refill(5);
  try {
    const Column column(8, 3);
    int at = 0;
    MPI_Pack(sent + 4096, 2, column.get(), got, kBytes, &at, MPI_COMM_WORLD);  // specialized
    may_throw(number);
    MPI_Pack(sent + 8192, 1, column.get(), got, kBytes, &at, MPI_COMM_WORLD);  // specialized
  } catch (int) {
  }
  tell("left early", nullptr, MPI_DOUBLE);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  in_a_class(argc + 6);
  blocks_of<int>("int");
  blocks_of<double>("double");
  nonblocking(argc);
  thrown_between(argc);
  thrown_by_a_handler(-argc);
  left_early(argc);
  left_early(-argc);
  MPI_Finalize();
}
