#include "CTaskHook.h"

#define SWIFT_CALL __attribute__((swiftcall))

// What the runtime of Swift exports for those who bring an executor of their own.
typedef void SWIFT_CALL (*Enqueue)(void *job);
typedef void SWIFT_CALL (*EnqueueHook)(void *job, Enqueue original);
extern EnqueueHook swift_task_enqueueGlobal_hook;
extern uint64_t SWIFT_CALL swift_task_getJobTaskId(const void *job);

static TaskHook installed;
static EnqueueHook earlier;

static void SWIFT_CALL enqueue(void *job, Enqueue original) {
  if (installed(job)) return;
  if (earlier) earlier(job, original); else original(job);
}

void installTaskHook(TaskHook hook) {
  installed = hook;
  earlier = swift_task_enqueueGlobal_hook;
  swift_task_enqueueGlobal_hook = enqueue;
}

uint64_t taskOfJob(const void *job) { return swift_task_getJobTaskId(job); }
