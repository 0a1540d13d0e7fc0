import Foundation
import Glibc
import SharedState
import SharedStateDependencies

/// The keys of the in-process server, with their values, types and expiries. Pure: the time is an argument.
package struct Keyspace: Sendable {
  enum Value: Hashable, Sendable {
    case string(Data)
    /// A key of another Redis type, with the name of that type. Its elements are not modelled.
    case other(type: String)
  }

  private struct Entry: Sendable {
    var value: Value
    /// In milliseconds since 1970, as Redis keeps it; `nil`: never.
    var expiry: Int64?
  }

  private var entries: [Name: Entry] = [:]
  /// The keys that were written, deleted or have expired since the last ``takeTouched()``.
  private(set) var touched: Set<Name> = []
  /// No key expires before this time.
  private(set) var nextExpiry: Int64?

  package init() {}

  // MARK: Reading

  func value(_ key: String, at now: ServerTime) -> Value? {
    entry(Name(key), at: now)?.value
  }

  /// The bytes of a string; `nil` for a key that is absent or of another type, as MGET returns it.
  func string(_ key: String, at now: ServerTime) -> Data? {
    guard case .string(let data)? = value(key, at: now) else { return nil }
    return data
  }

  /// The name that TYPE returns.
  func type(_ key: String, at now: ServerTime) -> String {
    switch value(key, at: now) {
    case nil: "none"
    case .string: "string"
    case .other(let type): type
    }
  }

  func keys(at now: ServerTime) -> [String] {
    entries.keys.filter { entry($0, at: now) != nil }.sorted().map(\.text)
  }

  /// The milliseconds left, as PTTL counts them; `nil` for a key that is absent or never expires.
  func millisecondsLeft(_ key: String, at now: ServerTime) -> Int64? {
    guard let expiry = entry(Name(key), at: now)?.expiry else { return nil }
    return expiry - now.milliseconds
  }

  /// A value together with its meta, as MGET returns them, or TYPE for a key that MGET cannot read.
  func stored(_ names: KeyNames, at now: ServerTime) -> StoredValue {
    let content: StoredValue.Content =
      switch value(names.value, at: now) {
      case nil: .absent
      case .string(let document): .document(document)
      case .other(let type): .otherType(type)
      }
    let meta = string(names.meta, at: now).flatMap { Meta(String(decoding: $0, as: UTF8.self)) }
    return StoredValue(meta: meta, content: content)
  }

  // MARK: Writing

  /// Sets a key and its expiry; `nil`: it never expires.
  mutating func set(_ key: String, _ value: Value, expiry: Int64? = nil) {
    let key = Name(key)
    entries[key] = Entry(value: value, expiry: expiry)
    touched.insert(key)
    note(expiry)
  }

  /// Removes a key, and returns whether it existed.
  @discardableResult
  mutating func remove(_ key: String, at now: ServerTime) -> Bool {
    let key = Name(key)
    let wasThere = entry(key, at: now) != nil
    entries[key] = nil
    if wasThere { touched.insert(key) }
    return wasThere
  }

  /// Sets when a key expires (`nil`: never), and returns whether it existed. A past expiry deletes the key.
  @discardableResult
  mutating func expire(_ key: String, at expiry: Int64?, now: ServerTime) -> Bool {
    let key = Name(key)
    guard var entry = entry(key, at: now) else { return false }
    entry.expiry = expiry
    entries[key] = expiry.map { $0 <= now.milliseconds } == true ? nil : entry
    touched.insert(key)
    note(expiry)
    return true
  }

  /// Renames a key, which keeps its expiry, and returns whether it existed.
  mutating func rename(_ key: String, to newKey: String, at now: ServerTime) -> Bool {
    guard let entry = entry(Name(key), at: now) else { return false }
    remove(key, at: now)
    set(newKey, entry.value, expiry: entry.expiry)
    return true
  }

  /// Removes expired keys.
  mutating func sweep(at now: ServerTime) {
    guard let next = nextExpiry, now.milliseconds > next else { return }
    nextExpiry = nil
    for (key, entry) in entries {
      guard let expiry = entry.expiry else { continue }
      if now.milliseconds > expiry { remove(expired: key) } else { note(expiry) }
    }
  }

  /// The keys that were touched since the last call.
  mutating func takeTouched() -> Set<Name> {
    defer { touched = [] }
    return touched
  }

  private mutating func remove(expired key: Name) {
    entries[key] = nil
    touched.insert(key)
  }

  private mutating func note(_ expiry: Int64?) {
    guard let expiry else { return }
    nextExpiry = min(nextExpiry ?? expiry, expiry)
  }

  private func entry(_ key: Name, at now: ServerTime) -> Entry? {
    guard let entry = entries[key] else { return nil }
    if let expiry = entry.expiry, now.milliseconds > expiry { return nil }
    return entry
  }
}

/// A moment on the in-process server's clock.
struct ServerTime: Equatable, Sendable {
  /// The microseconds since 1970.
  var microseconds: Int64

  var milliseconds: Int64 { microseconds / 1_000 }

  /// The time of this machine, or of a test's world.
  static var system: ServerTime {
    if let schedule = Schedules.current {
      return ServerTime(microseconds: 1_000_000_000_000_000 + schedule.now.wholeMicroseconds)
    }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return ServerTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}
