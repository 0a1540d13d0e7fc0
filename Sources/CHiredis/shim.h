// hiredis is in <hiredis/hiredis.h> on Debian, Fedora and Homebrew, and in <hiredis.h> where pkg-config
// points into its folder.
#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#elif __has_include(<hiredis.h>)
#include <hiredis.h>
#else
#error "hiredis was not found. Install it: apt-get install libhiredis-dev, brew install hiredis, or yum install hiredis-devel"
#endif

// Swift's own module of the C library leaves it out.
#if defined(__linux__)
#include <pthread.h>
#include <sys/eventfd.h>

// Declared by the C library only for programs that ask for extensions.
extern int pthread_getattr_np(pthread_t, pthread_attr_t *);

// Where the stack of this thread ends; NULL if the system does not say.
static inline void *shared_state_stack_end(void) {
  pthread_attr_t attributes;
  void *end = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return NULL;
  if (pthread_attr_getstack(&attributes, &end, &size)) end = NULL;
  pthread_attr_destroy(&attributes);
  return end;
}
#endif

// How many elements and levels the arrays of a reply may have. The reader makes room for an array as soon as its length
// has arrived, so it has to be asked before.
#if HIREDIS_MAJOR >= 1
typedef size_t shared_state_count;
#else
typedef int shared_state_count;
#endif

typedef struct {
  // What the reader calls: its own functions, but for one.
  redisReplyObjectFunctions functions;
  void *(*create_array)(const redisReadTask *, shared_state_count);
  // How many elements there may be yet.
  long elements;
  int depth;
  int exceeds_elements;
  int exceeds_depth;
} shared_state_reply_limits;

static inline void *shared_state_create_array(const redisReadTask *task, shared_state_count count) {
  shared_state_reply_limits *limits = task->privdata;
  int depth = 1;
  for (const redisReadTask *parent = task->parent; parent; parent = parent->parent) depth++;
  limits->exceeds_depth = depth > limits->depth;
  limits->exceeds_elements = (long)count > limits->elements;
  // The reader takes that for a want of memory, and is of no further use.
  if (limits->exceeds_depth || limits->exceeds_elements) return NULL;
  limits->elements -= (long)count;
  return limits->create_array(task, count);
}

// Keeps a reader within limits, which have to stay where they are for as long as it is used.
static inline void shared_state_limit(redisReader *reader, shared_state_reply_limits *limits) {
  limits->functions = *reader->fn;
  limits->create_array = reader->fn->createArray;
  limits->functions.createArray = shared_state_create_array;
  reader->fn = &limits->functions;
  reader->privdata = limits;
}
