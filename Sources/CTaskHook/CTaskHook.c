#include "CTaskHook.h"

#define SWIFT_CALL __attribute__((swiftcall))

// The runtime of Swift exports these for libraries with an executor of their own.
typedef void SWIFT_CALL (*Enqueue)(void *job);
typedef void SWIFT_CALL (*EnqueueHook)(void *job, Enqueue original);
extern EnqueueHook swift_task_enqueueGlobal_hook;
extern uint64_t SWIFT_CALL swift_task_getJobTaskId(const void *job);

// Other threads may call the hook as soon as the runtime has it. Only these atomics order their reads behind the writes
// below.
static _Atomic(TaskHook) installed;
static _Atomic(EnqueueHook) earlier;

static void SWIFT_CALL enqueue(void *job, Enqueue original) {
  TaskHook hook = installed;
  if (hook && hook(job)) return;
  EnqueueHook next = earlier;
  if (next) next(job, original); else original(job);
}

void installTaskHook(TaskHook hook) {
  earlier = swift_task_enqueueGlobal_hook;
  installed = hook;
  __atomic_store_n(&swift_task_enqueueGlobal_hook, enqueue, __ATOMIC_RELEASE);
}

uint64_t taskOfJob(const void *job) { return swift_task_getJobTaskId(job); }
