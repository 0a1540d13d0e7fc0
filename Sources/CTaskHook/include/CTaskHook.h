#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes a job that is about to run on the global executor, unless it returns false.
typedef bool (*TaskHook)(void *_Nonnull job);

/// Offers a hook every job of the process for the global executor. To be called once.
void installTaskHook(TaskHook _Nonnull hook);

/// The number of the task of a job, which no other task of the process has; zero when the job belongs to no task.
uint64_t taskOfJob(const void *_Nonnull job);
