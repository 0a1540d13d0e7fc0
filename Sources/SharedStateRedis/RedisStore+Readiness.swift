public import Foundation

extension RedisStore {
  /// Whether a service can answer with the values that it has, for its readiness probe.
  ///
  /// It separates an outage of Redis, in which a service continues with the values that it has, from a value that the
  /// service cannot use. An outage affects every instance at once: if it made them not ready, none would answer.
  public enum Readiness: Hashable, Sendable {
    /// The values are those of the server.
    case live
    /// The values were read, and may have changed since. This is the reason why the last attempt to connect failed, or
    /// the connection ended.
    case stale(since: Date, reason: RedisSharedStateError)
    /// The store was never live, and the values are those of the snapshot of this date: see
    /// ``RedisConfiguration/snapshot``.
    case snapshot(of: Date, reason: RedisSharedStateError?)
    /// These values were not read yet. With no names, the store was never live: it has not read all values that had a
    /// share. This is the reason why there is no connection; `nil`: there is one, or the first attempt is under way.
    case unread(names: [String], reason: RedisSharedStateError?)
    /// The stored documents of some values cannot be read, or are refused. Their shares keep the last good values, or
    /// their defaults.
    case unusable([RedisSharedStateError])
    /// The store was shut down.
    case stopped

    /// Whether the service should receive requests: the values are those of the server, or were.
    public var isReady: Bool {
      switch self {
      case .live, .stale, .snapshot: true
      case .unread, .unusable, .stopped: false
      }
    }
  }

  /// Whether a service can answer with the values that it has.
  ///
  /// ```swift
  /// router.get("ready") { _, _ -> HTTPResponse.Status in
  ///   store.readiness(of: "checkout:config").isReady ? .ok : .serviceUnavailable
  /// }
  /// ```
  ///
  /// A value without a share counts as unread. It sends no request. May be called from any thread.
  ///
  /// - Parameter names: The values that the service cannot do without. With none, only the connection counts, because
  ///   one value must not affect the others.
  public func readiness(of names: String...) -> Readiness {
    let required = Set(names)
    let values = required.isEmpty ? [] : link.valueReports.filter { required.contains($0.name) }
    let areKnown = required.isEmpty && link.knowsEveryValue
    return Readiness(health, names: names, values: values.map(Readiness.Value.init), areAllKnown: areKnown)
  }
}

extension RedisStore.Readiness {
  /// What matters of a value.
  struct Value: Sendable {
    let name: String
    /// Whether its share has shown what Redis has, at least once.
    let wasRead: Bool
    /// Whether its share shows what a snapshot has.
    let isFromSnapshot: Bool
    /// Why it cannot be used, apart from the connection.
    let error: RedisSharedStateError?

    init(name: String, wasRead: Bool, isFromSnapshot: Bool = false, error: RedisSharedStateError? = nil) {
      (self.name, self.wasRead, self.isFromSnapshot, self.error) = (name, wasRead, isFromSnapshot, error)
    }

    init(_ report: LinkState.ValueReport) {
      let error = report.attachment.attachment?.status?.loadError as? RedisSharedStateError
      self.init(
        name: report.name,
        wasRead: report.wasRead,
        isFromSnapshot: report.isFromSnapshot,
        // An outage takes the place of the error of an unreadable document.
        // A value whose other members are shown can be used.
        error: report.unreadable ?? error.flatMap { $0.isReportedByStore || !$0.unreadableMembers.isEmpty ? nil : $0 }
      )
    }
  }

  /// - Parameters:
  ///   - names: The required values.
  ///   - values: Those of them that have a share.
  ///   - areAllKnown: Whether each value with a share was read, or shows what a snapshot has. Of no effect with names.
  init(_ health: RedisStore.Health, names: [String], values: [Value], areAllKnown: Bool = false) {
    let errors = values.compactMap(\.error)
    let read = Set(values.filter(\.wasRead).map(\.name))
    let unread = names.filter { !read.contains($0) }
    switch health {
    case .stopped: self = .stopped
    case _ where !errors.isEmpty: self = .unusable(errors)
    // They were read through the first connection, and others are being read.
    case .neverConnected(nil) where !names.isEmpty && unread.isEmpty: self = .live
    case .snapshot(_, nil) where !names.isEmpty && unread.isEmpty: self = .live
    case .neverConnected(let reason): self = .unread(names: unread, reason: reason)
    case .snapshot(let date, let reason):
      let known = Set(values.filter(\.isFromSnapshot).map(\.name))
      let unknown = unread.filter { !known.contains($0) }
      let isKnown = names.isEmpty ? areAllKnown : unknown.isEmpty
      self = isKnown ? .snapshot(of: date, reason: reason) : .unread(names: unknown, reason: reason)
    case .stale(_, let reason) where !unread.isEmpty: self = .unread(names: unread, reason: reason)
    case .live where !unread.isEmpty: self = .unread(names: unread, reason: nil)
    case .stale(let since, let reason): self = .stale(since: since, reason: reason)
    case .live: self = .live
    }
  }
}

extension RedisStore.Readiness: CustomStringConvertible {
  /// `ready` or `not ready`, and why, for a person. It shows no value.
  public var description: String {
    switch self {
    case .live: "ready"
    case .stale(let since, let reason): "ready, with values of \(since.ISO8601Format()): \(reason)"
    case .snapshot(let date, let reason):
      "ready, with the snapshot of \(date.ISO8601Format())" + (reason.map { ": \($0)" } ?? "")
    case .unread(let names, let reason):
      (["not ready: \(Self.list(names)) not read yet."] + (reason.map { ["\($0)"] } ?? [])).joined(separator: " ")
    case .unusable(let errors): "not ready: " + errors.map { "\($0)" }.joined(separator: " ")
    case .stopped: "not ready: the store was shut down."
    }
  }

  private static func list(_ names: [String]) -> String {
    guard !names.isEmpty else { return "some values were" }
    return names.map { "'\(RedisName.printable($0))'" }.joined(separator: ", ") + (names.count == 1 ? " was" : " were")
  }
}
