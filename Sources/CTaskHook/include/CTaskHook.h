#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes a job that is about to run on the global executor, unless it returns false.
typedef bool (*TaskHook)(void *_Nonnull job);

/// Has every job of the process that is for the global executor offered to a hook. To be called once.
void installTaskHook(TaskHook _Nonnull hook);

/// The number of the task that a job belongs to, which no other task of the process has; zero when it belongs to none.
uint64_t taskOfJob(const void *_Nonnull job);
