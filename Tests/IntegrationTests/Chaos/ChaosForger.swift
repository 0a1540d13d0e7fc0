import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@testable import ChaosService

/// A forger whose only right is to publish. It keeps announcing values that were never stored. In between it checks
/// what is stored, because no forgery may ever be stored.
final class ChaosForger: Sendable {
  private enum Forgery: CaseIterable {
    case document, undecodable, noJSON, largeDocument, reference, deletion
    /// A forged document under the revision, writer and lineage of the stored value.
    case copy
    /// A message on the channel of invalidations that is not a list of keys.
    case invalidation
  }

  private struct State {
    var isResting = true
    var isBusy = false
    var isOver = false
    /// The number of forgeries that reached a subscriber.
    var heard = 0
    /// A forgery that was found in the store.
    var stored: String?
  }

  /// The forger's user, as a line of redis.conf.
  static func user(of namespace: String) -> String {
    "user forger on >secret resetkeys resetchannels &\(namespace)* &\(KeyNames.invalidationChannel) -@all +publish"
  }

  private let primary: @Sendable () throws -> PrivateRedisServer
  private let names: [(name: String, keys: KeyNames)]
  private let state = Mutex(State())

  private static let pace: Duration = .milliseconds(20)
  private static let largeBytes = 1_100_000

  /// Logs in as the forger of a namespace, and rests.
  ///
  /// - Throws: ``ChaosFailure`` if the user may do more than publish.
  init(namespace: String, on primary: @escaping @Sendable () throws -> PrivateRedisServer) throws {
    self.primary = primary
    names = [ChaosDocument.name, ChaosDocument.countName].map { name in
      (name, KeyNames(namespace: namespace, name: name, database: 0))
    }
    for command in [["SET", names[0].keys.value, "1"], ["GET", names[0].keys.value], ["PUBLISH", "others", "1"]] {
      guard case .error(let text) = try run(command.map { Data($0.utf8) }), text.hasPrefix("NOPERM") else {
        throw ChaosFailure("The forger may do this: \(command)")
      }
    }
    // A command blocks while the server is paused, so the work has its own thread.
    Thread.detachNewThread { [weak self] in
      while self?.work() ?? false { Thread.sleep(forTimeInterval: Self.pace / .seconds(1)) }
    }
  }

  deinit { end() }

  /// Begins or continues to forge.
  func start() { state.withLock { $0.isResting = false } }

  /// Stops announcing, and waits until the last announcement is made.
  func rest() async throws {
    state.withLock { $0.isResting = true }
    try await eventually("the forger rests") { self.state.withLock { !$0.isBusy } }
  }

  /// - Throws: ``ChaosFailure`` if one of the announced forgeries was stored.
  func judge() throws {
    try lookForForgeries()
    if let stored = state.withLock({ $0.stored }) { throw ChaosFailure("A forgery is stored: \(stored)") }
  }

  /// Whether some kind of forgery has reached no subscriber, so that the run shows nothing about it.
  var isIdle: Bool { state.withLock { $0.heard < names.count * Forgery.allCases.count } }

  /// Ends the thread.
  func end() { state.withLock { $0.isOver = true } }

  /// Announces a forgery, and checks what is stored. Returns whether to go on.
  private func work() -> Bool {
    let number = state.withLock { state in
      state.isBusy = !state.isResting && !state.isOver
      return state.isBusy ? state.heard : nil
    }
    if let number {
      // The server may be down, or refuse connections, for a while.
      let isHeard = (try? forge(number)) ?? false
      try? lookForForgeries()
      state.withLock { state in
        state.isBusy = false
        if isHeard { state.heard += 1 }
      }
    }
    return state.withLock { !$0.isOver }
  }

  // MARK: Forgeries

  /// Announces a forgery. Returns whether it reached a subscriber.
  private func forge(_ number: Int) throws -> Bool {
    let forgery = Forgery.allCases[number / names.count % Forgery.allCases.count]
    let (name, keys) = names[number % names.count]
    guard forgery != .invalidation else {
      return try publish(Data("x".utf8), on: "\(KeyNames.invalidationChannel)")
    }
    // A forger can learn the current revision from the messages of services.
    let meta = try get(keys.meta).flatMap { Meta(String(decoding: $0, as: UTF8.self)) }
    guard let message = Self.message(forgery, of: name, number, meta: meta) else { return true }
    // The forger knows everything except the secret.
    return try publish(
      message.payload(on: keys.channel, provenBy: [nil, .random()].randomElement() ?? nil),
      on: keys.channel
    )
  }

  /// - Returns: `nil` if there is nothing to copy.
  private static func message(_ forgery: Forgery, of name: String, _ number: Int, meta: Meta?) -> ChangeMessage? {
    let mark = ChaosForgery.mark(number)
    let document =
      name == ChaosDocument.countName
      ? Data("\(mark)".utf8)
      : Data(#"{"first":\#(mark),"second":\#(mark),"third":\#(mark),"common":\#(mark),"forged":true}"#.utf8)
    if forgery == .copy {
      return meta.map { meta in
        ChangeMessage(
          revision: meta.revision,
          parent: meta.parent,
          writer: meta.writer,
          lineage: meta.lineage,
          content: .document(document)
        )
      }
    }
    let content: ChangeMessage.Content =
      switch forgery {
      case .document, .copy, .invalidation: .document(document)
      case .undecodable: .document(Data(#"["forged"]"#.utf8))
      case .noJSON: .document(Data("{forged".utf8))
      case .largeDocument: .document(document + Data(repeating: UInt8(ascii: " "), count: largeBytes))
      case .reference: .reference
      case .deletion: .deleted
      }
    // Revisions are microseconds since 1970. This one is ahead of the server's clock.
    let ahead = [1, 1_000, 1_000_000, 5_000_000].randomElement() ?? 1
    let revision = UInt64(Date.now.timeIntervalSince1970 * 1_000_000) + UInt64(ahead)
    return ChangeMessage(
      revision: Revision(max(revision, (meta?.revision.rawValue ?? 0) + 1)),
      parent: [.none, Revision(revision - 1), meta?.revision ?? .none].randomElement() ?? .none,
      writer: "forger@host/1/forger",
      lineage: Bool.random() ? meta?.lineage : nil,
      content: content
    )
  }

  private func publish(_ payload: Data, on channel: String) throws -> Bool {
    guard case .integer(let receivers) = try run([Data("PUBLISH".utf8), Data(channel.utf8), payload]) else {
      return false
    }
    return receivers > 0
  }

  /// Runs a command as the forger's user.
  private func run(_ command: [Data]) throws -> RedisServerReply {
    let url = try primary().url.replacingOccurrences(of: "://", with: "://forger:secret@")
    return try RedisCommandClient(url: url).command(command)
  }

  // MARK: Stored forgeries

  private func lookForForgeries() throws {
    for (name, keys) in names {
      let (value, meta) = (try get(keys.value) ?? Data(), try get(keys.meta) ?? Data())
      guard ChaosForgery.isForged(value: value) || ChaosForgery.isForged(meta: meta) else { continue }
      let texts = [value, meta].map { String(decoding: $0.prefix(1_000), as: UTF8.self) }
      let text = "\(name) is \(texts[0]), with \(texts[1])"
      state.withLock { $0.stored = $0.stored ?? text }
    }
  }

  private func get(_ key: String) throws -> Data? {
    guard case .string(let data) = try primary().command("GET", key) else { return nil }
    return data
  }
}
