public import Foundation
import SharedState
import SharedStateDependencies
import Synchronization

/// A Redis server inside this process, for tests and for programs that run without a server.
///
/// Several stores on one such server behave as several services on one Redis: they commit through a twin of the same
/// script, and learn of changes by the same messages. Nothing leaves the process, and nothing is persisted.
///
/// The methods here do what `redis-cli` does: they edit immediately, without a revision and without a message, even
/// while the server is paused. No fault occurs by chance: the module `SharedStateRedisTesting` adds the faults that a
/// test requests.
///
/// All methods may be called from any thread.
public final class InProcessRedis: Sendable {
  /// The state of the server. No client is woken while this lock is held.
  private let state: Mutex<InProcessServer>

  /// Starts an empty server.
  public init() {
    state = Mutex(InProcessServer())
  }

  /// Runs a step of the server, on its clock, and then wakes the clients for which something has arrived.
  package func perform<Result: Sendable, Failure: Error>(
    _ step: (inout InProcessServer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let (result, wakers) = state.withLock { server -> (Swift.Result<Result, Failure>, [Waker]) in
      server.tick(.system)
      do throws(Failure) {
        let result = try step(&server)
        return (.success(result), server.endTurn())
      } catch {
        return (.failure(error), server.endTurn())
      }
    }
    for waker in wakers { waker.wake() }
    return try result.get()
  }
}

// MARK: Keys

extension InProcessRedis {
  /// The text of a string; `nil` when the key is absent or of another type.
  public func get(_ key: String) -> String? {
    getData(key).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The bytes of a string; `nil` when the key is absent or of another type.
  public func getData(_ key: String) -> Data? {
    perform { $0.keyspace.string(key, at: $0.now) }
  }

  /// Writes a string, as SET does: it replaces a key of any type, and removes its expiry.
  public func set(_ key: String, _ text: String) {
    set(key, Data(text.utf8))
  }

  /// Writes the bytes of a string, as SET does: it replaces a key of any type, and removes its expiry.
  public func set(_ key: String, _ bytes: Data) {
    perform { $0.keyspace.set(key, .string(bytes)) }
  }

  /// Replaces a key by one of another Redis type, such as `list` or `hash`. Its elements can neither be set nor read.
  public func set(_ key: String, type: String) {
    precondition(type != "string" && type != "none", "A key of another type is needed, such as \"list\".")
    perform { $0.keyspace.set(key, .other(type: type)) }
  }

  /// Deletes a key, as DEL does, and returns whether it existed.
  @discardableResult
  public func delete(_ key: String) -> Bool {
    perform { $0.keyspace.remove(key, at: $0.now) }
  }

  /// Deletes every key, as FLUSHALL does.
  public func flushAll() {
    perform { $0.flushAll() }
  }

  /// Lets a key expire, as PEXPIRE does, and returns whether it existed. A time that is not positive deletes it.
  @discardableResult
  public func expire(_ key: String, after time: Duration) -> Bool {
    perform { server in
      let (expiry, overflow) = server.now.milliseconds.addingReportingOverflow(time.wholeMicroseconds / 1_000)
      // A time that far away must leave room for additions to it.
      return server.keyspace.expire(key, at: overflow ? .max / 2 : min(expiry, .max / 2), now: server.now)
    }
  }

  /// Renames a key, as RENAME does, replacing any key with the new name, and returns whether it existed.
  @discardableResult
  public func rename(_ key: String, to newKey: String) -> Bool {
    perform { $0.keyspace.rename(key, to: newKey, at: $0.now) }
  }

  /// The time left until a key expires, in whole milliseconds; `nil` when it is absent or never expires.
  public func timeToLive(of key: String) -> Duration? {
    perform { $0.keyspace.millisecondsLeft(key, at: $0.now) }.map { .milliseconds($0) }
  }

  /// The name of a key's type, as TYPE returns it: `none`, `string`, `list`, …
  public func type(of key: String) -> String {
    perform { $0.keyspace.type(key, at: $0.now) }
  }

  /// The names of all keys, sorted.
  public var keys: [String] {
    perform { $0.keyspace.keys(at: $0.now) }
  }
}

// MARK: Messages and clients

extension InProcessRedis {
  /// A message on a channel.
  public struct Message: Hashable, Sendable {
    let name: Name
    /// The published bytes.
    public let payload: Data

    init(_ channel: Name, payload: Data) {
      name = channel
      self.payload = payload
    }

    /// The channel on which it was published.
    public var channel: String { name.text }
  }

  /// Publishes a message, as PUBLISH does, and returns how many connections are subscribed.
  @discardableResult
  public func publish(_ channel: String, _ text: String) -> Int {
    publish(channel, Data(text.utf8))
  }

  /// Publishes the bytes of a message, as PUBLISH does, and returns how many connections are subscribed.
  @discardableResult
  public func publish(_ channel: String, _ payload: Data) -> Int {
    perform { $0.publish(payload, on: channel) }
  }

  /// The connections that are open, oldest first, as CLIENT LIST names them: `<client>:writer`, `<client>:subscriber`.
  public var clients: [String] {
    perform { $0.connectedClients.map { "\($0.name):\($0.purpose.rawValue)" } }
  }
}
