#if Tracing
  import Tracing

  extension RedisStore {
    fileprivate func trace(_ operation: String, of name: String, _ body: () async throws -> Void) async throws {
      try await withSpan("shared_state.\(operation)", ofKind: .client) { span in
        span.updateAttributes { attributes in
          attributes["db.system.name"] = "redis"
          attributes["db.namespace"] = "\(database)"
          attributes["shared_state.name"] = RedisName.printable(name)
          switch endpoint {
          case .tcp(let host, let port):
            attributes["server.address"] = host
            attributes["server.port"] = Int(port)
          case .unix(let path): attributes["server.address"] = path
          case nil: break
          }
        }
        do {
          try await body()
        } catch {
          let type = (error as? RedisSharedStateError)?.code.description ?? "\(type(of: error))"
          span.updateAttributes { $0["error.type"] = type }
          throw error
        }
        guard let revision = confirmedRevision(of: name), revision != .none else { return }
        span.updateAttributes { $0["shared_state.revision"] = Int64(clamping: revision.rawValue) }
      }
    }
  }
#endif

extension RedisStore {
  /// Runs an operation of the program that waits for the server: with the package trait `Tracing`, in a span of the
  /// program's tracer.
  ///
  /// - Parameters:
  ///   - operation: The name of the operation.
  ///   - name: The name of the value.
  func traced(_ operation: String, of name: String, _ body: () async throws -> Void) async throws {
    #if Tracing
      try await trace(operation, of: name, body)
    #else
      try await body()
    #endif
  }
}
