#define _GNU_SOURCE
#include "CBench.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// Defined in the executable, these take the place of the C library's for the whole process, the Swift runtime and
// Foundation included. glibc exports the originals under a second name, so that nothing has to be looked up at run time.

#ifdef __GLIBC__

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static __thread int64_t allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  allocations++;
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  allocations++;
  return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
  allocations++;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  allocations++;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

int64_t bench_allocations(void) { return allocations; }

int64_t bench_allocated_bytes(void) {
  struct mallinfo2 info = mallinfo2();
  return (int64_t)(info.uordblks + info.hblkhd);
}

#else

int64_t bench_allocations(void) { return -1; }
int64_t bench_allocated_bytes(void) { return -1; }

#endif
