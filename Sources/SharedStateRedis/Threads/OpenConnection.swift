/// A connection, as it is handed from one thread to the next.
struct OpenConnection: @unchecked Sendable {
  // `@unchecked Sendable` is right because only the thread that has the role uses the connection, and only between two
  // of its decisions, the first of which requested it. While it sleeps, a caller may use the writer's connection: see
  // ``Loan``. The role changes hands under the link's lock, and only while its thread is in a job, which is not a step
  // that uses the connection. So the thread finds out, under the same lock, before it could use the connection again.
  // All that it did with the connection happened before it took the job under that lock, and so before the next thread
  // gets the connection under that lock.
  let connection: any RedisConnection
}
