#if TLS
  internal import COpenSSL
  import Synchronization

  /// What the connections of a store share: the trusted authorities, the own certificate, and the sessions to resume.
  final class TLSContext: @unchecked Sendable {
    // `@unchecked Sendable` is right because only the initialiser changes the context, and OpenSSL counts the
    // references of its connections atomically. A mutex guards the sessions.
    let pointer: OpaquePointer
    let hasIdentity: Bool
    private let sessions = Mutex<[(server: TLSServerName, session: TLSSession)]>([])

    /// One for each connection of a store, to each of three servers.
    private static let maximumSessions = 6

    /// - Throws: ``RedisSharedStateError/Code/tlsFailed``: a file cannot be used.
    init(_ tls: RedisConfiguration.TLS) throws(RedisSharedStateError) {
      guard let pointer = shared_state_tls_context() else { fatalError("OpenSSL has no memory for a context.") }
      self.pointer = pointer
      hasIdentity = tls.identity != nil
      ERR_clear_error()
      if let authority = tls.authority {
        try Self.check(SSL_CTX_load_verify_locations(pointer, authority, nil), "ca")
      } else {
        try Self.check(SSL_CTX_set_default_verify_paths(pointer), "ca")
      }
      guard let identity = tls.identity else { return }
      try Self.check(SSL_CTX_use_certificate_chain_file(pointer, identity.certificate), "certificate")
      try Self.check(SSL_CTX_use_PrivateKey_file(pointer, identity.key, SSL_FILETYPE_PEM), "key")
    }

    deinit { SSL_CTX_free(pointer) }

    /// Takes the newest session with a server. A session that the server rejects is not tried again.
    func takeSession(with server: TLSServerName) -> TLSSession? {
      sessions.withLock { sessions in
        sessions.lastIndex { $0.server == server }.map { sessions.remove(at: $0).session }
      }
    }

    func keep(_ session: TLSSession, with server: TLSServerName) {
      sessions.withLock { sessions in
        sessions.append((server, session))
        if sessions.count > Self.maximumSessions { sessions.removeFirst() }
      }
    }

    private static func check(_ result: CInt, _ option: String) throws(RedisSharedStateError) {
      guard result != 1 else { return }
      let text = TLSFailure.text(of: ERR_get_error())
      ERR_clear_error()
      throw .tlsFailed(reason: "the file of '\(option)' cannot be used: \(text)")
    }
  }

  /// What both sides agreed on in an earlier connection, so that the next one needs no certificates.
  final class TLSSession: @unchecked Sendable {
    // `@unchecked Sendable` is right because nothing changes a session that a connection has handed out, and OpenSSL
    // counts the references to it atomically.
    let pointer: OpaquePointer

    /// The present session of a connection; `nil`: there is none yet.
    init?(of connection: OpaquePointer) {
      guard let pointer = SSL_get1_session(connection) else { return nil }
      self.pointer = pointer
    }

    deinit { SSL_SESSION_free(pointer) }
  }
#endif
