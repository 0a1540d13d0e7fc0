import Foundation
@testable import SharedStateRedis
import Synchronization

extension RedisConnectionContract {
  /// The surroundings of one check: its names, its clients, and a foreign writer. Used by one thread.
  final class Scene {
    private let server: Server
    private var clients: [Client] = []

    init(_ server: Server) {
      self.server = server
    }

    func names(_ name: String = "key") -> KeyNames {
      KeyNames(namespace: server.namespace, name: name, database: server.database)
    }

    func connect(_ purpose: ConnectionPurpose = .writer) throws -> Client {
      let waker = Waker()
      let connection = try server.connector.connect(purpose: purpose, waker: waker, deadline: .now + .seconds(10))
      let client = Client(connection, waker)
      clients.append(client)
      return client
    }

    /// A connection that is subscribed to the channels of some keys.
    func subscribe(to names: KeyNames...) throws -> Client {
      let client = try connect(.subscriber)
      try client.subscribe(names.map(\.channel))
      return client
    }

    @discardableResult
    func foreign(_ arguments: String...) throws -> String {
      try foreign(arguments)
    }

    @discardableResult
    func foreign(_ arguments: [String]) throws -> String {
      try server.foreign(arguments)
    }

    /// Permits all clients only keys and channels whose names contain these texts; `nil`: all of them.
    func permit(keys: String? = nil, channels: String? = nil) throws {
      let patterns = keys.map { ["~*\($0)*", "~*secret:{}"] } ?? ["~*"]
      let rules = ["resetkeys"] + patterns + ["resetchannels", channels.map { "&*\($0)*" } ?? "&*"]
      try expect(foreign(["ACL", "SETUSER", "default"] + rules), is: "OK", "the answer to ACL SETUSER")
    }

    /// Runs a part of the check concurrently, with connections of its own.
    func onAnotherThread<Result: Sendable>(
      _ body: @escaping @Sendable (Scene) throws -> Result
    ) -> Parallel<Result> {
      Parallel { [server] in
        let scene = Scene(server)
        defer { scene.close() }
        return try body(scene)
      }
    }

    /// Whether a key expires within the given seconds, and not much earlier.
    func lifetime(of key: String, isAbout seconds: Int) throws -> Bool {
      guard let left = Int(try foreign("PTTL", key)) else { return false }
      return left <= seconds * 1_000 && left > seconds * 1_000 - 60_000
    }

    func close() {
      for client in clients { client.connection.close() }
    }
  }
}

extension RedisConnectionContract {
  /// A part of a check that runs on a thread of its own.
  final class Parallel<Success: Sendable>: Sendable {
    private let outcome = Mutex<Result<Success, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () throws -> Success) {
      Thread.detachNewThread { [self] in
        let result = Result { try body() }
        outcome.withLock { $0 = result }
        isDone.signal()
      }
    }

    /// Waits for the end of the part, with a time limit.
    var result: Result<Success, any Error> {
      _ = isDone.wait(timeout: .now() + 30)
      isDone.signal()
      return outcome.withLock { $0 } ?? .failure(Violation("a thread is stuck"))
    }
  }
}
