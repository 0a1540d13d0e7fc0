#include "CBench.h"

#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#else
#include <hiredis.h>
#endif
#include <stdlib.h>
#include <sys/socket.h>

struct bench_redis {
  redisContext *context;
  redisReply *reply;
};

bench_redis *bench_redis_connect(const char *host, int port) {
  redisContext *context = redisConnect(host, port);
  if (context == NULL) return NULL;
  if (context->err) {
    redisFree(context);
    return NULL;
  }
  bench_redis *redis = calloc(1, sizeof(*redis));
  redis->context = context;
  return redis;
}

void bench_redis_close(bench_redis *redis) {
  if (redis->reply) freeReplyObject(redis->reply);
  redisFree(redis->context);
  free(redis);
}

void bench_redis_interrupt(bench_redis *redis) {
  shutdown(redis->context->fd, SHUT_RDWR);
}

int bench_redis_append(bench_redis *redis, int count, const char *const *arguments, const size_t *lengths) {
  return redisAppendCommandArgv(redis->context, count, (const char **)arguments, lengths) == REDIS_OK ? 0 : -1;
}

int bench_redis_reply(bench_redis *redis, const char **text, size_t *length) {
  if (redis->reply) freeReplyObject(redis->reply);
  redis->reply = NULL;
  if (redisGetReply(redis->context, (void **)&redis->reply) != REDIS_OK) return -1;
  redisReply *reply = redis->reply;
  if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0) reply = reply->element[reply->elements - 1];
  *text = reply->str;
  *length = reply->str ? reply->len : 0;
  return reply->type == REDIS_REPLY_ERROR ? -1 : 0;
}
