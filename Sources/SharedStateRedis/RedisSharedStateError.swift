public import Foundation
import SharedState

/// What can go wrong between a shared value and Redis, with a case for each thing that a caller can act on.
///
/// No case carries a password or a value, so that every one of them may be logged.
public enum RedisSharedStateError: Error, Hashable, Sendable {
  /// A URL that is not `redis://user:password@host:port/database?namespace=…` or `unix:///path?database=…`.
  case invalidURL(reason: String)
  /// A name, namespace or label that is empty, too long, or has a character that it may not have.
  case invalidName(reason: String)
  /// A server was required, but the environment variable `REDIS_URL` is not set.
  case serverRequired
  /// Nobody answers at the server's address. The store tries again by itself.
  case unreachable(reason: String)
  /// The connection to the server broke, and values may be stale until it is back. The store tries again by itself.
  case disconnected(reason: String)
  /// The server, or this operation, took longer than its deadline.
  case timedOut(operation: String)
  /// The server refuses the user name or the password. Tried again slowly.
  case authenticationFailed
  /// The server's access control does not allow an operation, or not for this name. Tried again slowly, and when somebody
  /// asks for it.
  case permissionDenied(operation: String)
  /// The server is a replica, and only a primary takes writes. The store asks again by itself.
  case notPrimary
  /// The server answered with an error that has no case of its own; its code is the first word of the answer.
  case serverError(code: String)
  /// The server, or something in its place, does not speak the Redis protocol, or contradicts itself.
  case protocolViolation(reason: String)
  /// A document is larger than the key's `maximumBytes`: what the value was encoded to, which was not sent, or what is
  /// stored, which was not read.
  case valueTooLarge(name: String, bytes: Int, maximumBytes: Int)
  /// The value cannot be encoded. It was not sent.
  case encodingFailed(name: String, reason: String)
  /// What is stored cannot be read as the share's type: the document does not decode, or the Redis key holds something
  /// other than a string. The last good value stays, and a local change waits.
  ///
  /// `writer` is who wrote it, as the store of that service is called; `nil`: nobody knows. `save(replacingUnreadable: true)`
  /// replaces it, and what it holds is lost for everybody.
  case undecodable(name: String, reason: String, writer: String?)
  /// The key's `validate` refuses the value, for this reason. Without a writer it was made here, and was not sent. With
  /// one it is stored, and is held like what cannot be decoded: the last good value stays, and a local change waits.
  case rejected(name: String, reason: String, writer: String?)
  /// A local change gave way to somebody else's: the key's policy is to reject conflicts, or the value was deleted, or
  /// somebody wrote while a save was replacing what could not be read. Carries both documents; `nil`: nothing is stored.
  ///
  /// They are for the caller who wants to change the value again; no description shows them.
  case conflict(name: String, local: Data?, stored: Data?)
  /// Changes were given up since a flush told of it last: Redis does not get them. The first hundred of the values, in
  /// order, and how many changes of others there were.
  ///
  /// The `saveError` of each share, and the log, tell why. What is changed again is sent again.
  case changesGivenUp(names: [String], further: Int)
  /// Nobody can tell whether an atomic update took effect: the server was replaced, or has not answered for too long,
  /// after it had been sent. Look at the value, and decide.
  case outcomeUnknown(name: String)
  /// The same name is already in use, in the same store, with another type of value, by a share that is declared there:
  /// its file and line, where that is known.
  case valueTypeMismatch(name: String, existing: String, requested: String, declaredAt: String?)
  /// Nothing is stored under the name.
  case notStored(name: String)
  /// The store was shut down.
  case stopped
}

extension RedisSharedStateError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
  /// The same as ``description``.
  public var errorDescription: String? { description }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A sentence that says what happened and what to do, without a password or a value.
  public var description: String {
    switch self {
    case .invalidURL(let reason):
      "The Redis URL is not usable: \(reason)."
    case .invalidName(let reason):
      "The name is not usable: \(reason)."
    case .serverRequired:
      "A Redis server is required, but REDIS_URL is not set. Set it, for example to redis://127.0.0.1:6379."
    case .unreachable(let reason):
      "The Redis server cannot be reached: \(reason)."
    case .disconnected(let reason):
      "The connection to Redis is down, and the value may be stale: \(reason)."
    case .timedOut(let operation):
      "Redis did not answer in time: \(operation)."
    case .authenticationFailed:
      "Redis refuses the user name or the password."
    case .permissionDenied(let operation):
      "The Redis user may not do this: \(operation). Grant it with ACL SETUSER."
    case .notPrimary:
      "The Redis server is a replica. Connect to its primary."
    case .serverError(let code):
      "Redis answered with the error \(code)."
    case .protocolViolation(let reason):
      "What answers is not a Redis server, or an unknown one: \(reason)."
    case .valueTooLarge(let name, let bytes, let maximumBytes):
      "The value of '\(name)' has \(bytes) bytes, and at most \(maximumBytes) are allowed."
    case .encodingFailed(let name, let reason):
      "The value of '\(name)' cannot be encoded: \(reason). It was not sent."
    case .undecodable(let name, let reason, let writer):
      "What is stored under '\(name)' cannot be read: \(reason). "
        + (writer.map { "It was written by \($0). " } ?? "") + "The last good value stays, and local changes wait."
    case .rejected(let name, let reason, let writer):
      "The value of '\(name)' is refused: \(reason)."
        + (writer.map { " It was written by \($0). The last good value stays, and local changes wait." } ?? "")
    case .conflict(let name, _, _):
      "Somebody else wrote or deleted '\(name)' at the same time, and the local change gave way. Look at it, and try again."
    case .changesGivenUp(let names, let further):
      "Changes were given up, and are not in Redis: \(names.map { "'\(RedisName.printable($0))'" }.joined(separator: ", "))"
        + (further > 0 ? " and \(further) more. " : ". ") + "The saveError of each share tells why."
    case .outcomeUnknown(let name):
      "Whether the atomic update of '\(name)' took effect is unknown. Look at the value before you try again."
    case .valueTypeMismatch(let name, let existing, let requested, let place):
      "'\(name)' is already shared as \(existing)" + (place.map { " at \($0)" } ?? "")
        + ", so it cannot be shared as \(requested)."
    case .notStored(let name):
      "Nothing is stored under '\(name)'."
    case .stopped:
      "The store was shut down."
    }
  }
}

extension RedisSharedStateError {
  /// How many values ``changesGivenUp(names:further:)`` names.
  static var maximumNames: Int { 100 }

  /// The Redis key holds something other than a string.
  package static func wrongType(_ type: String, name: String) -> Self {
    .undecodable(name: name, reason: "the Redis key holds a \(type), not a string", writer: nil)
  }

  /// The same, if it is about something stored that this writer wrote.
  func written(by writer: String?) -> Self {
    switch self {
    case .undecodable(let name, let reason, nil): .undecodable(name: name, reason: reason, writer: writer)
    case .rejected(let name, let reason, nil): .rejected(name: name, reason: reason, writer: writer)
    default: self
    }
  }

  /// Whether trying again at once is pointless, because somebody has to change something first.
  package var isPermanent: Bool {
    switch self {
    case .authenticationFailed, .permissionDenied, .protocolViolation, .invalidURL, .invalidName, .serverRequired: true
    default: false
    }
  }
}

extension RedisSharedStateError: StoreError {
  /// What is wrong with the connection is no business of a single value.
  package var isToldByStore: Bool {
    switch self {
    case .invalidURL, .serverRequired, .unreachable, .disconnected, .timedOut, .authenticationFailed, .permissionDenied,
      .notPrimary, .serverError, .protocolViolation, .changesGivenUp, .outcomeUnknown, .notStored, .stopped:
      true
    case .invalidName, .valueTooLarge, .encodingFailed, .undecodable, .rejected, .conflict, .valueTypeMismatch:
      false
    }
  }
}
