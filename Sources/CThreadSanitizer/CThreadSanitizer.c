// The thread sanitizer does not see the order that a contended `Synchronization.Mutex` establishes: on Linux the kernel
// hands that lock over, inside a library that is not built for the sanitizer. Only a build for the sanitizer links these
// functions. They have the names of that library's functions, so that all modules call them instead. A mutex without
// contention needs nothing: its atomics are part of the calling code.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT_CALL __attribute__((swiftcall))
#define MUTEX __attribute__((swift_context)) void *mutex
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void SWIFT_CALL lock(uint32_t thread, MUTEX) __asm__(LOCK);
bool SWIFT_CALL tryLock(MUTEX) __asm__(TRY_LOCK);
void SWIFT_CALL unlock(MUTEX) __asm__(UNLOCK);

static void SWIFT_CALL (*originalLock)(uint32_t thread, MUTEX);
static bool SWIFT_CALL (*originalTryLock)(MUTEX);
static void SWIFT_CALL (*originalUnlock)(MUTEX);

// Not in a call, which would wait for the lock of the dynamic linker.
__attribute__((constructor)) static void findOriginals(void) {
  originalLock = dlsym(RTLD_NEXT, LOCK);
  originalTryLock = dlsym(RTLD_NEXT, TRY_LOCK);
  originalUnlock = dlsym(RTLD_NEXT, UNLOCK);
}

void SWIFT_CALL lock(uint32_t thread, MUTEX) {
  originalLock(thread, mutex);
  __tsan_acquire(mutex);
}

bool SWIFT_CALL tryLock(MUTEX) {
  bool locked = originalTryLock(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void SWIFT_CALL unlock(MUTEX) {
  __tsan_release(mutex);
  originalUnlock(mutex);
}
