import SharedState
import SharedStateRedis

/// A commit of the library, captured by the server's MONITOR, so that the floor can send the very same commit.
struct CapturedCommit {
  private let name: String
  private let arguments: [[UInt8]]

  /// The indices of the channel, the expected revision, the number of the operation and the document. The arguments
  /// are: EVALSHA, digest, 4, four keys, channel, expected, floor, writer, nonce, number, kind, document, time to live,
  /// expected lineage, the two texts of the new lineage, the secret, and the digest of the document.
  private static let channel = 7
  private static let expected = 8
  private static let number = 12
  private static let document = 14

  /// Commits twice, and keeps the second commit, which has a revision as its floor.
  init(of share: Shared<Tick>, name: String, store: RedisStore, server: BareRedis) async throws {
    try server.command("MONITOR")
    for sequence in 1...2 {
      share.withLock { $0 = Tick(phase: 0, sequence: sequence, sentAt: monotonicNanoseconds()) }
      try await store.flush(within: .seconds(5))
    }
    var commits: [[[UInt8]]] = []
    while commits.count < 2 {
      let arguments = Self.arguments(in: try server.reply())
      if arguments.first == Array("EVALSHA".utf8) { commits.append(arguments) }
    }
    self.name = name
    arguments = commits[1]
    guard arguments.count == Self.document + 7 else { throw BenchmarkError.notCaptured }
  }

  /// Commits a value of its own.
  init(by scene: Scene) async throws {
    let name = "bench:captured"
    let share = Shared(wrappedValue: Tick(), .redis(name, store: scene.store))
    try await share.load()
    try await self.init(of: share, name: name, store: scene.store, server: scene.connect())
  }

  /// The same commit of another value, with this document if there is one.
  func command(for other: String, document: [UInt8]? = nil) -> BareCommand {
    BareCommand(
      arguments.enumerated().map { index, argument in
        // Unconditional, because the floor does not know the stored revision.
        if index == Self.expected { return [UInt8(ascii: "*")] }
        if index == Self.document, let document { return document }
        guard (3...Self.channel).contains(index) else { return argument }
        return Array(String(decoding: argument, as: UTF8.self).replacing(name, with: other).utf8)
      }
    )
  }

  func channel(of other: String) -> String {
    String(decoding: arguments[Self.channel], as: UTF8.self).replacing(name, with: other)
  }

  static func set(number: Int, in command: BareCommand) {
    command.replace(Self.number, by: number)
  }

  static func set(document: [UInt8], in command: BareCommand) {
    command.replace(Self.document, by: document)
  }

  /// Parses a line such as `1700000000.123456 [0 127.0.0.1:5000] "EVALSHA" "a\x00b"`.
  private static func arguments(in line: UnsafeRawBufferPointer) -> [[UInt8]] {
    var arguments: [[UInt8]] = []
    var current: [UInt8]?
    var index = 0
    while index < line.count {
      let byte = line[index]
      index += 1
      guard var argument = current else {
        if byte == UInt8(ascii: "\"") { current = [] }
        continue
      }
      if byte == UInt8(ascii: "\"") {
        arguments.append(argument)
        current = nil
        continue
      }
      guard byte == UInt8(ascii: "\\"), index < line.count else {
        current?.append(byte)
        continue
      }
      let escaped = line[index]
      index += 1
      switch escaped {
      case UInt8(ascii: "n"): argument.append(10)
      case UInt8(ascii: "r"): argument.append(13)
      case UInt8(ascii: "t"): argument.append(9)
      case UInt8(ascii: "x"):
        let digits = String(decoding: line[index..<index + 2], as: UTF8.self)
        argument.append(UInt8(digits, radix: 16) ?? 0)
        index += 2
      default: argument.append(escaped)
      }
      current = argument
    }
    return arguments
  }
}
