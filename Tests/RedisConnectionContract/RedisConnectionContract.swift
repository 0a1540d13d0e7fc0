import Foundation
@testable import SharedStateRedis

/// A check of one promise that every ``RedisConnection`` must keep, for any server.
///
/// The checks use only typed requests and the edits of a foreign writer, so that they apply to the in-process server
/// and to a real one alike. Each works on keys of its own namespace, and does not remove them.
struct RedisConnectionContract: Sendable, CustomStringConvertible {
  /// The server that is checked.
  struct Server: Sendable {
    /// Runs a command like `redis-cli`, and returns the text that it prints into a pipe, without the last line break.
    typealias Foreign = @Sendable (_ arguments: [String]) throws -> String

    let connector: any RedisConnector
    let namespace: String
    let database: Int
    let foreign: Foreign

    /// - Parameters:
    ///   - connector: Connects to the server.
    ///   - namespace: A unique prefix, without braces.
    ///   - database: The database that the connector and the foreign writer select.
    ///   - foreign: Another client. It runs SET, GET, DEL, EXISTS, PEXPIRE, PTTL, TYPE, LPUSH, PUBLISH and ACL SETUSER.
    init(
      connector: any RedisConnector,
      namespace: String = "contract:\(UUID().uuidString):",
      database: Int = 0,
      foreign: @escaping Foreign
    ) {
      self.connector = connector
      self.namespace = namespace
      self.database = database
      self.foreign = foreign
    }
  }

  /// A promise that was not kept.
  struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
      self.description = description
    }
  }

  /// Every check, in the order of the documentation of the seam.
  static let allChecks =
    connectionChecks + readChecks + trackingChecks + commitChecks + numberChecks + restoreChecks
    + operationChecks + messageChecks + baseChecks

  /// The promise, as a sentence.
  let name: String
  private let body: @Sendable (Scene) throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (Scene) throws -> Void) {
    self.name = name
    self.body = body
  }

  /// Runs the check on the calling thread, which it blocks for a few round trips.
  /// - Throws: ``Violation``, or the error of the connection.
  func run(on server: Server) throws {
    let scene = Scene(server)
    defer { scene.close() }
    try body(scene)
  }

  var description: String { name }

  static func expect(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
    guard condition else { throw Violation(promise()) }
  }

  static func expect<Value: Equatable>(_ value: Value, is expected: Value, _ what: @autoclosure () -> String) throws {
    guard value == expected else { throw Violation("\(what()): expected \(expected), but it is \(value)") }
  }
}
