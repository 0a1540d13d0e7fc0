import CBench

/// A blocking hiredis connection: the floor.
final class BareRedis: @unchecked Sendable {
  // `@unchecked Sendable` is right because one thread uses it; only `interrupt()` is called from another.
  private let redis: OpaquePointer

  init(host: String, port: Int32) throws {
    guard let redis = bench_redis_connect(host, port) else { throw BenchmarkError.noConnection }
    self.redis = redis
  }

  deinit {
    bench_redis_close(redis)
  }

  func append(_ command: BareCommand) throws {
    guard bench_redis_append(redis, command.count, command.pointers, command.lengths) == 0 else {
      throw BenchmarkError.noConnection
    }
  }

  /// The bytes of the next reply or message, valid until the next call.
  @discardableResult
  func reply() throws -> UnsafeRawBufferPointer {
    var text: UnsafePointer<CChar>?
    var length = 0
    let result = bench_redis_reply(redis, &text, &length)
    let bytes = UnsafeRawBufferPointer(start: text, count: length)
    guard result == 0 else { throw BenchmarkError.refused(String(decoding: bytes, as: UTF8.self)) }
    return bytes
  }

  @discardableResult
  func command(_ arguments: String...) throws -> String {
    try append(BareCommand(arguments.map { Array($0.utf8) }))
    return String(decoding: try reply(), as: UTF8.self)
  }

  /// Listens to channels.
  func subscribe(_ channels: [String]) throws {
    try append(BareCommand([Array("SUBSCRIBE".utf8)] + channels.map { Array($0.utf8) }))
    for _ in channels { try reply() }
  }

  /// How many commits the server has run.
  func commits() throws -> Int {
    let information = try command("INFO", "commandstats")
    guard let start = information.firstRange(of: "cmdstat_evalsha:calls=") else { return 0 }
    return Int(information[start.upperBound...].prefix { $0.isNumber }) ?? 0
  }

  func interrupt() {
    bench_redis_interrupt(redis)
  }
}
