public import Foundation
import SharedState

/// An error of a shared value in Redis, or of its store.
///
/// Switch over its ``code``, which says how to react. Later versions may add codes. No error carries a password, and
/// none shows a value, so every error may be logged.
public struct RedisSharedStateError: Error, Hashable, Sendable {
  /// The failure, with all known details.
  private(set) var cause: Cause
  /// The snapshot that the value is shown from meanwhile; `nil`: it is not from one.
  private(set) var snapshot: ShownSnapshot?
  /// The user that lacks a right; `nil`: it is not known, or this is another error.
  private var account: Account?

  init(_ cause: Cause) {
    self.cause = cause
  }

  /// Compares what went wrong. The same right may be missing on one server after the other.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.cause == rhs.cause && lhs.snapshot == rhs.snapshot
  }

  /// Hashes what went wrong.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(cause)
    hasher.combine(snapshot)
  }

  /// A user on a server.
  struct Account: Sendable {
    let user: String
    let server: String
  }

  /// A version that is shown from a snapshot.
  struct ShownSnapshot: Hashable, Sendable {
    let date: Date
    let revision: Revision
  }

  /// A failure that a caller can act on.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, for example for a metric.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// Matches an error by its code, in `catch RedisSharedStateError.Code.conflict`.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? RedisSharedStateError)?.code == code
    }

    /// A URL that is not `redis://user:password@host:port/database?namespace=…`, the same with `rediss`, or
    /// `unix:///path?database=…`.
    public static let invalidURL = Code("invalidURL")
    /// A name, namespace or label that is empty, too long, or has a character that is not allowed.
    public static let invalidName = Code("invalidName")
    /// A server was required, but the environment variable `REDIS_URL` is not set.
    public static let serverRequired = Code("serverRequired")
    /// The default store was used or set before, so it can no longer be replaced.
    public static let defaultInUse = Code("defaultInUse")
    /// No server answers at the address. The store tries again by itself.
    public static let unreachable = Code("unreachable")
    /// The connection to the server broke, and values may be stale until it is back. The store tries again by itself.
    public static let disconnected = Code("disconnected")
    /// The server, or this operation, took longer than its deadline.
    public static let timedOut = Code("timedOut")
    /// No TLS connection can be made until a person fixes something: the server's certificate is not accepted, the
    /// server refuses this service's, a file cannot be used, or the server does not speak TLS. The store tries again
    /// slowly.
    public static let tlsFailed = Code("tlsFailed")
    /// The package was built without a feature that was asked for. A package trait turns it on.
    public static let unsupported = Code("unsupported")
    /// The server refuses the user name or the password. The store tries again slowly.
    public static let authenticationFailed = Code("authenticationFailed")
    /// The server's access control does not allow an operation, or not for this name. The store tries again slowly, and
    /// whenever the program asks for the operation.
    public static let permissionDenied = Code("permissionDenied")
    /// The store is configured to write nothing: see ``RedisConfiguration/access``. A local change was discarded.
    public static let readOnly = Code("readOnly")
    /// The server is a replica, and only a primary accepts writes. The store tries again by itself.
    public static let notPrimary = Code("notPrimary")
    /// Another server has taken over: a Sentinel has announced another primary, or another node of the cluster owns the
    /// slot. The store connects to it immediately, by itself.
    public static let moved = Code("moved")
    /// The system starts no more threads for this process, because a limit of the user or of the container is reached.
    /// The store tries again by itself.
    public static let outOfThreads = Code("outOfThreads")
    /// The server answered with an error that has no code of its own here: see
    /// ``RedisSharedStateError/serverErrorCode``.
    public static let serverError = Code("serverError")
    /// The server, or what answers at its address, does not speak the Redis protocol, or contradicts itself.
    public static let protocolViolation = Code("protocolViolation")
    /// A document is larger than the key's `maximumBytes`: either the encoded value, which was not sent, or the stored
    /// document, which was not read.
    public static let valueTooLarge = Code("valueTooLarge")
    /// The value cannot be encoded. It was not sent.
    public static let encodingFailed = Code("encodingFailed")
    /// The stored value cannot be read as the share's type: the document does not decode, or the Redis key holds
    /// something other than a string. The share keeps its value, the last good one or its default, and a local change
    /// waits.
    ///
    /// ``RedisSharedStateError/writer`` is the service that wrote it, if that is certain. `save(replacingUnreadable:
    /// true)` replaces the stored value, which is then lost for every service.
    ///
    /// If the error has ``RedisSharedStateError/unreadableMembers``, only these cannot be read: the share shows the
    /// rest, and no change waits.
    public static let undecodable = Code("undecodable")
    /// The key's `validate` refuses the value, for this reason. A value that was made here was not sent. A stored one
    /// is treated like one that cannot be decoded: the share keeps its value, and a local change waits.
    public static let rejected = Code("rejected")
    /// A local change was not saved, because another service's came first: the key's policy is to reject conflicts, or
    /// the value was deleted, or another write arrived while a save was replacing an unreadable value.
    ///
    /// ``RedisSharedStateError/conflictingDocuments`` lets a caller make the change again.
    public static let conflict = Code("conflict")
    /// Changes were given up since a flush last reported it, and never reach Redis. Carries the names of the first
    /// hundred values, in order, and the number of further changes.
    ///
    /// The `saveError` of each share, and the log, say why. A value that is changed again is sent again.
    public static let changesGivenUp = Code("changesGivenUp")
    /// A service ended while so many values had a change that was not delivered: it was still pending, or it was given
    /// up and no flush had reported that. The log says why.
    public static let undelivered = Code("undelivered")
    /// The primary has a change, but too few of its replicas have acknowledged it: see
    /// ``RedisSharedKey/Options/replicas``. The change stays at the primary, and is lost only together with it. Do not
    /// repeat an atomic update because of this error.
    public static let notReplicated = Code("notReplicated")
    /// It is unknown whether an atomic update took effect: after it had been sent, the server was replaced, or did not
    /// answer for too long. Check the value before you try again.
    public static let outcomeUnknown = Code("outcomeUnknown")
    /// The same name is already in use, in the same store, with another type of value. Carries the file and line of the
    /// share that uses it, where they are known.
    public static let valueTypeMismatch = Code("valueTypeMismatch")
    /// Nothing is stored under the name.
    public static let notStored = Code("notStored")
    /// This process is the child of a `fork`, and the store belongs to its parent. Call `exec` in a child.
    public static let forked = Code("forked")
    /// The store was shut down.
    public static let stopped = Code("stopped")
  }

  enum Cause: Hashable, Sendable {
    case invalidURL(reason: String)
    case invalidName(reason: String, name: String? = nil)
    case serverRequired
    case defaultInUse
    case unreachable(reason: String)
    case disconnected(reason: String)
    case timedOut(operation: String)
    case handshakeTimedOut(isSilent: Bool)
    case outpaced(name: String)
    case tlsFailed(reason: String)
    case unsupported(feature: String)
    case authenticationFailed
    case sentinelAuthenticationFailed
    case permissionDenied(operation: String, subject: DeniedSubject? = nil)
    case sentinelPermissionDenied(operation: String)
    case notPrimary
    case moved
    case outOfThreads(reason: String)
    case serverError(code: String)
    case protocolViolation(reason: String)
    case valueTooLarge(name: String, bytes: Int, maximumBytes: Int)
    case encodingFailed(name: String, reason: String)
    case undecodable(name: String, reason: String, writer: String?)
    case unreadableMembers(name: String, paths: [String], reasons: [String])
    case rejected(name: String, reason: String, writer: String?)
    case conflict(name: String, local: Data?, stored: Data?)
    case changesGivenUp(names: [String], further: Int)
    case undelivered(values: Int)
    case notReplicated(name: String?, replicas: RedisReplicas, ReplicaShortage)
    case outcomeUnknown(name: String)
    case valueTypeMismatch(name: String, existing: String, requested: String, declaredAt: String?)
    case notStored(name: String)
    case readOnly(name: String)
    case forked
    case stopped
  }
}

/// The keys, or the channel, that a user of the server lacks the right for, although it may run the command.
struct DeniedSubject: Hashable, Sendable {
  enum Kind: Equatable, Sendable {
    case key, channel
  }

  let kind: Kind
  /// The name of the value that they belong to; `nil`: it is not known, or the command concerns several values.
  var name: String?
  /// Their names in Redis: at least one of them is denied. Empty for a command that concerns several values.
  var names: [String] = []
  /// The patterns of the keys that the user may access, as the server writes them; `nil`: it does not report them.
  var granted: String?

  init(_ kind: Kind, of name: String? = nil, names: [String] = []) {
    (self.kind, self.name, self.names) = (kind, name, names)
  }
}

extension RedisSharedStateError {
  /// What went wrong, for a caller to react to.
  public var code: Code {
    switch cause {
    case .invalidURL: .invalidURL
    case .invalidName: .invalidName
    case .serverRequired: .serverRequired
    case .defaultInUse: .defaultInUse
    case .unreachable: .unreachable
    case .disconnected: .disconnected
    case .timedOut, .handshakeTimedOut, .outpaced: .timedOut
    case .tlsFailed: .tlsFailed
    case .unsupported: .unsupported
    case .authenticationFailed, .sentinelAuthenticationFailed: .authenticationFailed
    case .permissionDenied, .sentinelPermissionDenied: .permissionDenied
    case .notPrimary: .notPrimary
    case .moved: .moved
    case .outOfThreads: .outOfThreads
    case .serverError: .serverError
    case .protocolViolation: .protocolViolation
    case .valueTooLarge: .valueTooLarge
    case .encodingFailed: .encodingFailed
    case .undecodable, .unreadableMembers: .undecodable
    case .rejected: .rejected
    case .conflict: .conflict
    case .changesGivenUp: .changesGivenUp
    case .undelivered: .undelivered
    case .notReplicated: .notReplicated
    case .outcomeUnknown: .outcomeUnknown
    case .valueTypeMismatch: .valueTypeMismatch
    case .notStored: .notStored
    case .readOnly: .readOnly
    case .forked: .forked
    case .stopped: .stopped
    }
  }

  /// The name of the value that the error concerns; `nil`: it concerns the whole store, or several values.
  public var name: String? {
    switch cause {
    case .invalidName(_, let name): name
    case .permissionDenied(_, let subject): subject?.name
    case .notReplicated(let name, _, _): name
    case .valueTooLarge(let name, _, _), .encodingFailed(let name, _), .undecodable(let name, _, _),
      .unreadableMembers(let name, _, _), .rejected(let name, _, _), .conflict(let name, _, _),
      .outcomeUnknown(let name), .outpaced(let name),
      .valueTypeMismatch(let name, _, _, _), .notStored(let name), .readOnly(let name):
      name
    default: nil
    }
  }

  /// The names of the values that the error concerns: for ``Code/changesGivenUp`` the first hundred of them, in order.
  public var names: [String] {
    if case .changesGivenUp(let names, _) = cause { names } else { name.map { [$0] } ?? [] }
  }

  /// The first word of the server's answer, for ``Code/serverError``.
  public var serverErrorCode: String? {
    if case .serverError(let code) = cause { code } else { nil }
  }

  /// The service that wrote the unreadable or refused value, by its store's label; `nil`: it is not known, or the value
  /// was made here.
  ///
  /// It is known only when the service's own message has brought the value. Any client may have replaced a value that
  /// was read from Redis since its last commit. ``RedisStore/metadata(for:)`` and the log name the service that made
  /// that commit.
  public var writer: String? {
    switch cause {
    case .undecodable(_, _, let writer), .rejected(_, _, let writer): writer
    default: nil
    }
  }

  /// The paths of the members, entries and elements that cannot be read, while the share shows the rest of the stored
  /// value; empty for any other error. See ``RedisSharedKey/Options/unreadableMembers``.
  ///
  /// A path such as `flags["checkout"].isOn` has the keys of dictionaries as they are, and no value.
  public var unreadableMembers: [String] {
    if case .unreadableMembers(_, let paths, _) = cause { paths } else { [] }
  }

  /// The date of the snapshot that a share shows for as long as it has this error; `nil`: it does not show one. See
  /// ``RedisConfiguration/snapshot``.
  public var snapshotDate: Date? { snapshot?.date }

  /// The same error, of a share that shows a version of a snapshot.
  func showing(snapshotOf date: Date, _ revision: Revision) -> Self {
    var error = self
    error.snapshot = ShownSnapshot(date: date, revision: revision)
    return error
  }

  /// Both documents of a ``Code/conflict``, each `nil` where there is none. No description shows them.
  public var conflictingDocuments: (local: Data?, stored: Data?) {
    switch cause {
    case .conflict(_, let local, let stored): (local, stored)
    default: (nil, nil)
    }
  }
}

extension RedisSharedStateError {
  /// An error with the code ``Code/invalidURL``.
  package static func invalidURL(reason: String) -> Self {
    Self(.invalidURL(reason: reason))
  }

  /// An error with the code ``Code/invalidName``.
  ///
  /// - Parameters:
  ///   - name: The name of a shared value; `nil`: a namespace or a label is not usable.
  ///   - reason: Why it is not usable.
  static func invalidName(_ name: String? = nil, reason: String) -> Self {
    Self(.invalidName(reason: reason, name: name))
  }

  /// An error with the code ``Code/serverRequired``.
  static var serverRequired: Self { Self(.serverRequired) }

  /// An error with the code ``Code/defaultInUse``.
  static var defaultInUse: Self { Self(.defaultInUse) }

  /// An error with the code ``Code/unreachable``.
  public static func unreachable(reason: String) -> Self {
    Self(.unreachable(reason: reason))
  }

  /// An error with the code ``Code/disconnected``.
  public static func disconnected(reason: String) -> Self {
    Self(.disconnected(reason: reason))
  }

  /// An error with the code ``Code/timedOut``.
  public static func timedOut(operation: String) -> Self {
    Self(.timedOut(operation: operation))
  }

  /// An error with the code ``Code/timedOut``, of a TLS handshake.
  ///
  /// - Parameter isSilent: Whether nothing at all has arrived.
  static func handshakeTimedOut(isSilent: Bool) -> Self {
    Self(.handshakeTimedOut(isSilent: isSilent))
  }

  /// An error with the code ``Code/timedOut``: the server has answered, but each commit conflicted.
  static func outpaced(name: String) -> Self {
    Self(.outpaced(name: name))
  }

  /// An error with the code ``Code/tlsFailed``.
  public static func tlsFailed(reason: String) -> Self {
    Self(.tlsFailed(reason: reason))
  }

  /// An error with the code ``Code/unsupported``.
  public static func unsupported(feature: String) -> Self {
    Self(.unsupported(feature: feature))
  }

  /// An error with the code ``Code/authenticationFailed``.
  public static var authenticationFailed: Self { Self(.authenticationFailed) }

  /// An error with the code ``Code/permissionDenied``, for a command that the user may not run at all.
  public static func permissionDenied(operation: String) -> Self {
    Self(.permissionDenied(operation: operation))
  }

  /// An error with the code ``Code/notPrimary``.
  public static var notPrimary: Self { Self(.notPrimary) }

  /// An error with the code ``Code/moved``.
  public static var moved: Self { Self(.moved) }

  /// An error with the code ``Code/outOfThreads``.
  public static func outOfThreads(reason: String) -> Self {
    Self(.outOfThreads(reason: reason))
  }

  /// An error with the code ``Code/serverError``.
  public static func serverError(code: String) -> Self {
    Self(.serverError(code: code))
  }

  /// An error with the code ``Code/protocolViolation``.
  public static func protocolViolation(reason: String) -> Self {
    Self(.protocolViolation(reason: reason))
  }

  /// An error with the code ``Code/valueTooLarge``.
  static func valueTooLarge(name: String, bytes: Int, maximumBytes: Int) -> Self {
    Self(.valueTooLarge(name: name, bytes: bytes, maximumBytes: maximumBytes))
  }

  /// An error with the code ``Code/encodingFailed``.
  static func encodingFailed(name: String, reason: String) -> Self {
    Self(.encodingFailed(name: name, reason: reason))
  }

  /// An error with the code ``Code/undecodable``.
  package static func undecodable(name: String, reason: String, writer: String?) -> Self {
    Self(.undecodable(name: name, reason: reason, writer: writer))
  }

  /// An error with the code ``Code/undecodable``, of a share that shows the rest of the stored value.
  static func unreadableMembers(name: String, _ failures: [DecodingFailure]) -> Self {
    let paths = failures.map { $0.path ?? "" }
    return Self(.unreadableMembers(name: name, paths: paths, reasons: failures.map(\.description)))
  }

  /// An error with the code ``Code/rejected``.
  static func rejected(name: String, reason: String, writer: String?) -> Self {
    Self(.rejected(name: name, reason: reason, writer: writer))
  }

  /// An error with the code ``Code/conflict``.
  static func conflict(name: String, local: Data?, stored: Data?) -> Self {
    Self(.conflict(name: name, local: local, stored: stored))
  }

  /// An error with the code ``Code/changesGivenUp``.
  static func changesGivenUp(names: [String], further: Int) -> Self {
    Self(.changesGivenUp(names: names, further: further))
  }

  /// An error with the code ``Code/undelivered``.
  package static func undelivered(values: Int) -> Self {
    Self(.undelivered(values: values))
  }

  /// An error with the code ``Code/notReplicated``.
  static func notReplicated(name: String?, replicas: RedisReplicas, _ shortage: ReplicaShortage) -> Self {
    Self(.notReplicated(name: name, replicas: replicas, shortage))
  }

  /// An error with the code ``Code/outcomeUnknown``.
  static func outcomeUnknown(name: String) -> Self {
    Self(.outcomeUnknown(name: name))
  }

  /// An error with the code ``Code/valueTypeMismatch``.
  static func valueTypeMismatch(
    name: String,
    existing: String,
    requested: String,
    declaredAt: String?
  ) -> Self {
    Self(.valueTypeMismatch(name: name, existing: existing, requested: requested, declaredAt: declaredAt))
  }

  /// An error with the code ``Code/notStored``.
  package static func notStored(name: String) -> Self {
    Self(.notStored(name: name))
  }

  /// An error with the code ``Code/readOnly``.
  static func readOnly(name: String) -> Self {
    Self(.readOnly(name: name))
  }

  /// An error with the code ``Code/forked``.
  static var forked: Self { Self(.forked) }

  /// An error with the code ``Code/stopped``.
  static var stopped: Self { Self(.stopped) }
}

extension RedisSharedStateError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
  /// How many unreadable members a description names.
  private static let maximumReasons = 10

  /// The same as ``description``.
  public var errorDescription: String? { description }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Says what happened and what to do, without a password or a value.
  public var description: String {
    guard let snapshot else { return causeDescription }
    let (date, revision) = (snapshot.date.inReport, snapshot.revision)
    return "\(causeDescription) The value is from the snapshot of \(date), revision \(revision)."
  }

  private var user: String { account.map { "User '\(RedisName.printable($0.user))'" } ?? "The Redis user" }

  private var onServer: String { account.map { " on \($0.server)" } ?? "" }

  private var causeDescription: String {
    switch cause {
    case .invalidURL(let reason):
      "The Redis URL is not usable: \(reason)."
    case .invalidName(let reason, let name):
      "The name \(name.map { "'\(RedisName.printable($0))' " } ?? "")is not usable: \(reason)."
    case .serverRequired:
      "A Redis server is required, but REDIS_URL is not set. Set it, for example to redis://127.0.0.1:6379."
    case .defaultInUse:
      "The default store is in use. Set another one at launch, before the first key uses it."
    case .unreachable(let reason):
      "The Redis server cannot be reached: \(reason)."
    case .disconnected(let reason):
      "The connection to Redis is down, and the value may be stale: \(reason)."
    case .timedOut(let operation):
      "Redis did not answer in time: \(operation)."
    case .handshakeTimedOut(let isSilent):
      "The TLS handshake timed out\(isSilent ? "; is this a plain port?" : ".")"
    case .outpaced(let name):
      "The change of '\(name)' was not stored in time. Redis answered, but the change conflicted with those of other "
        + "services every time."
    case .tlsFailed(let reason):
      "There is no TLS connection to Redis: \(reason)."
    case .unsupported(let feature):
      "The package swift-shared-state was built without its trait '\(feature)'. Enable it."
    case .authenticationFailed:
      "Redis refuses the user name or the password."
    case .sentinelAuthenticationFailed:
      "A Sentinel refuses the user name or the password. They are 'sentinel-user' and 'sentinel-password' in the URL."
    case .sentinelPermissionDenied(let operation):
      "The user of a Sentinel lacks permission for the command \(operation). RedisAccess.sentinelRules lists its rights."
    case .permissionDenied(let operation, nil):
      "\(user) lacks permission for the command \(operation)\(onServer). Grant it with ACL SETUSER."
    case .permissionDenied(let operation, let subject?):
      "\(user) lacks permission for \(subject) (\(operation))\(onServer). "
        + (subject.granted.map { "It may access \($0). " } ?? "") + "Add a pattern with ACL SETUSER."
    case .notPrimary:
      "The Redis server is a replica. Connect to its primary."
    case .moved:
      "Another Redis server has taken over. The store connects to it."
    case .outOfThreads(let reason):
      "The system starts no more threads for this process: \(reason). "
        + "Raise `ulimit -u`, or the limit of processes (pids) of the container."
    case .serverError(let code):
      "Redis answered with the error \(code)" + (passingRefusal.map { ": \($0.meaning)." } ?? ".")
    case .protocolViolation(let reason):
      "The server does not speak the Redis protocol as expected: \(reason)."
    case .valueTooLarge(let name, let bytes, let maximumBytes):
      "The value of '\(name)' has \(bytes) bytes. The option 'maximumBytes' of its key allows \(maximumBytes)."
    case .encodingFailed(let name, let reason):
      "The value of '\(name)' cannot be encoded: \(reason). It was not sent."
    case .undecodable(let name, let reason, let writer):
      "The stored value of '\(name)' cannot be read: \(reason). "
        + (writer.map { "It was written by \($0). " } ?? "") + "The share keeps its value, and local changes wait."
    case .unreadableMembers(let name, _, let reasons):
      "Members of the stored value of '\(name)' cannot be read: "
        + reasons.prefix(Self.maximumReasons).joined(separator: "; ")
        + (reasons.count > Self.maximumReasons ? "; and \(reasons.count - Self.maximumReasons) more" : "")
        + ". The share shows the rest, and they stay as they are stored."
    case .rejected(let name, let reason, let writer):
      "The value of '\(name)' is refused: \(reason)."
        + (writer.map { " It was written by \($0). The share keeps its value, and local changes wait." } ?? "")
    case .conflict(let name, _, _):
      "Another writer changed or deleted '\(name)' at the same time, so the local change was not saved. "
        + "Check the value, and try again."
    case .changesGivenUp(let names, let further):
      "Changes were given up, and are not in Redis: \(names.map { "'\(RedisName.printable($0))'" }.joined(separator: ", "))"
        + (further > 0 ? " and \(further) more. " : ". ") + "The saveError of each share says why."
    case .undelivered(let values):
      "The service ended with \(values) \(values == 1 ? "value" : "values") whose last change is not in Redis."
    case .notReplicated(let name, let replicas, let shortage):
      shortage.text(name.map { " of '\(RedisName.printable($0))'" } ?? "", replicas)
    case .outcomeUnknown(let name):
      "Whether the atomic update of '\(name)' took effect is unknown. Check the value before you try again."
    case .valueTypeMismatch(let name, let existing, let requested, let place):
      "'\(name)' is already shared as \(existing)" + (place.map { " at \($0)" } ?? "")
        + ", so it cannot be shared as \(requested)."
    case .notStored(let name):
      "Nothing is stored under '\(name)'."
    case .readOnly(let name):
      "This service only reads '\(name)', and discards its own changes: see RedisConfiguration.access."
    case .forked:
      "This process was forked, and the store belongs to its parent. Call exec in the child, or make it before the store."
    case .stopped:
      "The store was shut down."
    }
  }
}

extension ReplicaShortage {
  fileprivate func text(_ ofValue: String, _ replicas: RedisReplicas) -> String {
    switch self {
    case .acknowledged(let count):
      "Redis has the change\(ofValue), but only \(count) of \(replicas.count) replicas have it"
        + (replicas.isOnDisk ? " on disk." : ".")
    case .notOnOwnDisk: "Redis has the change\(ofValue), but has not written it to its disk yet."
    case .unknown: "Redis has acknowledged the change\(ofValue), but not said whether replicas have it."
    case .refused(let reason): "Redis has the change\(ofValue), but cannot be asked whether replicas have it. \(reason)"
    case .notInRedis: "No Redis key keeps this value, so no replica of a server has it."
    }
  }
}

extension DeniedSubject: CustomStringConvertible {
  var description: String {
    let what = kind == .key ? "key" : "channel"
    let quoted = names.map { "'\($0)'" }.joined(separator: ", ")
    return switch names.count {
    case 0: "the \(what)s of several values"
    case 1: "the \(what) \(quoted)"
    default: "one of the \(what)s \(quoted)"
    }
  }
}

extension RedisSharedStateError {
  /// The largest number of values that ``changesGivenUp(names:further:)`` names.
  static var maximumNames: Int { 100 }

  /// The Redis key holds something other than a string.
  static func wrongType(_ type: String, name: String) -> Self {
    .undecodable(name: name, reason: "the Redis key holds a \(type), not a string", writer: nil)
  }

  /// The server is a replica without a connection to its primary.
  static let outOfStep = RedisSharedStateError.unreachable(
    reason: "the server is a replica that is not in step with its primary"
  )

  /// Adds what the refused command concerns to an error about keys or channels.
  ///
  /// - Parameters:
  ///   - name: The name of the value.
  ///   - names: Its keys, or its channel, in Redis.
  func concerning(_ name: String?, _ names: [String]) -> Self {
    guard case .permissionDenied(let operation, var subject?) = cause else { return self }
    (subject.name, subject.names) = (name, names)
    return replacing(.permissionDenied(operation: operation, subject: subject))
  }

  /// Adds the patterns of the keys that the user may access.
  func granting(_ patterns: String) -> Self {
    guard case .permissionDenied(let operation, var subject?) = cause else { return self }
    subject.granted = patterns
    return replacing(.permissionDenied(operation: operation, subject: subject))
  }

  private func replacing(_ cause: Cause) -> Self {
    var error = self
    error.cause = cause
    return error
  }

  /// Adds the user that lacks the right, and its server, to an error about rights.
  func denied(to account: Account?) -> Self {
    guard case .permissionDenied = cause else { return self }
    var error = self
    error.account = account
    return error
  }

  /// What the user lacks the right for; `nil`: it is no key or channel, or this is another error.
  var deniedSubject: DeniedSubject? {
    if case .permissionDenied(_, let subject) = cause { subject } else { nil }
  }

  /// Adds the writer to an error about a stored value.
  func written(by writer: String?) -> Self {
    switch cause {
    case .undecodable(let name, let reason, nil): .undecodable(name: name, reason: reason, writer: writer)
    case .rejected(let name, let reason, nil): .rejected(name: name, reason: reason, writer: writer)
    default: self
    }
  }

  /// Whether an immediate retry is pointless, because a person has to change something first.
  var isPermanent: Bool {
    switch cause {
    case .tlsFailed, .unsupported, .authenticationFailed, .sentinelAuthenticationFailed, .permissionDenied,
      .sentinelPermissionDenied, .outOfThreads, .protocolViolation, .invalidURL, .invalidName,
      .serverRequired:
      true
    default: false
    }
  }
}

extension RedisSharedStateError {
  /// Whether the server has refused a request for a reason that passes by itself, so that the same request will most
  /// likely succeed later.
  var isTransient: Bool { self == .notPrimary || passingRefusal != nil }

  /// Whether an answer concerns every request on a connection: the server cannot be used. Any other error may concern
  /// a single value, or all writes. As the answer to a PING, it is a sign of life.
  var concernsConnection: Bool {
    switch cause {
    case .authenticationFailed, .notPrimary: true
    default: self == .outOfStep || passingRefusal?.concernsReads ?? false
    }
  }

  private var passingRefusal: PassingRefusal? { serverErrorCode.flatMap { PassingRefusal.known[$0] } }
}

/// What a server means by an error that passes by itself.
private struct PassingRefusal {
  let meaning: String
  /// Whether the server refuses whatever is asked: it refuses reads of every value, too.
  let concernsReads: Bool

  static let known = [
    "BUSY": PassingRefusal(meaning: "a script is running", concernsReads: true),
    "CLUSTERDOWN": PassingRefusal(meaning: "a part of the cluster is down", concernsReads: true),
    "LOADING": PassingRefusal(meaning: "it is loading its data", concernsReads: true),
    "MASTERDOWN": PassingRefusal(meaning: "it is a replica without its primary", concernsReads: true),
    // The answer to a PING as well.
    "MISCONF": PassingRefusal(meaning: "it cannot write its data to the disk", concernsReads: false),
    "NOREPLICAS": PassingRefusal(meaning: "too few of its replicas are connected", concernsReads: false),
    "OOM": PassingRefusal(meaning: "its memory is full", concernsReads: false),
    // Only keys that the node does not have, or no longer.
    "ASK": PassingRefusal(meaning: "the slot is being moved to another node", concernsReads: false),
    "TRYAGAIN": PassingRefusal(meaning: "the slot is being moved to another node", concernsReads: false),
  ]
}

extension RedisSharedStateError: CustomReflectable {
  /// The code and the description, because the cause of a conflict has the values.
  public var customMirror: Mirror { Mirror(self, children: ["code": "\(code)", "description": description]) }
}

extension RedisSharedStateError: StoreError {
  /// The store reports errors of the connection, which concern no single value.
  package var isReportedByStore: Bool {
    switch cause {
    // The store stays connected, so only the share reports it.
    case .permissionDenied(_, let subject): subject == nil
    case .invalidURL, .serverRequired, .defaultInUse, .unreachable, .disconnected, .timedOut, .handshakeTimedOut,
      .tlsFailed, .unsupported, .authenticationFailed, .sentinelAuthenticationFailed, .sentinelPermissionDenied,
      .notPrimary, .moved, .outOfThreads, .serverError, .protocolViolation, .changesGivenUp, .undelivered,
      .outcomeUnknown, .notStored, .forked, .stopped:
      true
    case .invalidName, .outpaced, .valueTooLarge, .encodingFailed, .undecodable, .unreadableMembers, .rejected,
      .conflict, .notReplicated, .valueTypeMismatch, .readOnly:
      false
    }
  }
}
