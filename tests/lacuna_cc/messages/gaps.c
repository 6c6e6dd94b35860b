// The types by which messages are sent with a gap: one of a size is made once, and all are freed by the time MPI
// ends. Each rank sends to itself; sessions follow each other, so one rank runs them. gaps_counted.c counts.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { kMost = 60, kStride = 3, kThreads = 2 };
extern int g_made, g_freed;

__attribute__((noinline)) static int sends(MPI_Comm comm, int me, int n, int tag) {
  double from[kMost * kStride], to[kMost];
  MPI_Datatype type;
  MPI_Request request;
  for (int i = 0; i < n * kStride; ++i) from[i] = tag * 1000 + i;
  MPI_Type_vector(n, 1, kStride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(to, n, MPI_DOUBLE, me, tag, comm, &request);
  MPI_Send(from, 1, type, me, tag, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  for (int i = 0; i < n; ++i) {
    if (to[i] != from[i * kStride]) return 1;
  }
  return 0;
}

static int all_sizes(MPI_Comm comm, int me, int tag) {
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
    for (int n = 2; n <= kMost; ++n) wrong += sends(comm, me, n, tag);
  }
  return wrong;
}

static void say(const char* what, int wrong) {
  printf("%s: %d wrong, %s%s\n", what, wrong, g_made > 0 ? "made" : "none made", g_made == g_freed ? ", all freed" : "");
}

#if defined(SESSIONS)
int main(void) {
  int wrong = 0;
  for (int i = 0; i < 2; ++i) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "gaps", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    wrong += all_sizes(comm, 0, 1);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
  }
  say("sessions", wrong);
  return 0;
}
#elif defined(THREADS)
static int rank;
static void* one(void* tag) { return (void*)(size_t)all_sizes(MPI_COMM_WORLD, rank, (int)(size_t)tag); }
int main(void) {
  int given, wrong = 0;
  pthread_t threads[kThreads];
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = given == MPI_THREAD_MULTIPLE ? kThreads : 0;
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, one, (void*)(size_t)(i + 1));
  for (int i = 0; i < count; ++i) {
    void* its;
    pthread_join(threads[i], &its);
    wrong += (int)(size_t)its;
  }
  if (count == 0) wrong = all_sizes(MPI_COMM_WORLD, rank, 1);
  MPI_Finalize();
  say("threads", wrong);
  return 0;
}
#else
int main(void) {
  int rank, wrong = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; ++i) wrong += sends(MPI_COMM_WORLD, rank, 7, 1);
  printf("one size: %d made\n", g_made);
  wrong += all_sizes(MPI_COMM_WORLD, rank, 1);
  MPI_Finalize();
  say("world", wrong);
  return 0;
}
#endif
