#pragma once

#include <stddef.h>
#include <stdint.h>

// What the benchmarks need from C: a count of allocations, and the floor, which is hiredis as its manual shows it.

/// How often the calling thread has allocated memory so far; -1 where that cannot be counted.
int64_t bench_allocations(void);

/// How many bytes the process has allocated and not freed; -1 where that cannot be told.
int64_t bench_allocated_bytes(void);

/// A blocking connection, for one thread.
typedef struct bench_redis bench_redis;

/// NULL when the server cannot be reached.
bench_redis *bench_redis_connect(const char *host, int port);
void bench_redis_close(bench_redis *redis);
/// Ends a wait of another thread on this connection, with an error.
void bench_redis_interrupt(bench_redis *redis);

/// Adds a command to what is sent with the next wait for a reply; 0 when it could.
int bench_redis_append(bench_redis *redis, int count, const char *const *arguments, const size_t *lengths);

/// Sends what was added and waits for the next reply or message; 0 when it is no error. Its text is that of a string,
/// or of the last element of an array, and lives until the next call.
int bench_redis_reply(bench_redis *redis, const char **text, size_t *length);
