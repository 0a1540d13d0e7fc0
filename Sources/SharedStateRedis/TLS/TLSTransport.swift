#if TLS
  internal import COpenSSL
  import Foundation

  /// Encrypts the bytes of one connection, which another transport carries.
  ///
  /// OpenSSL works in memory only: what it has encrypted is written to the other transport, and what that has read is
  /// handed to OpenSSL.
  final class TLSTransport: Transport {
    private let base: any Transport
    private let context: TLSContext
    private let server: TLSServerName
    private let connection: OpaquePointer
    /// What has arrived and is not decrypted yet; belongs to the connection.
    private let incoming: OpaquePointer
    /// What is encrypted and has not left yet; belongs to the connection.
    private let outgoing: OpaquePointer
    private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)

    private(set) var holdsInput = false
    /// How many of the bytes that come next in ``write(_:)`` are encrypted already.
    private var encryptedBytes = 0
    /// Why nothing can be read any more.
    private var failure: RedisSharedStateError?
    /// The session that was looked at last.
    private var session: TLSSession?

    /// This much is read, or encrypted, at a time: four records.
    private static let pieceBytes = 65_536

    /// - Parameter base: Connected.
    init(over base: any Transport, _ context: TLSContext, _ server: TLSServerName) {
      guard
        let connection = SSL_new(context.pointer),
        let incoming = BIO_new(BIO_s_mem()),
        let outgoing = BIO_new(BIO_s_mem())
      else { fatalError("OpenSSL has no memory for a connection.") }
      (self.base, self.context, self.server) = (base, context, server)
      (self.connection, self.incoming, self.outgoing) = (connection, incoming, outgoing)
      SSL_set_bio(connection, incoming, outgoing)
      SSL_set_connect_state(connection)
    }

    deinit {
      close()
      SSL_free(connection)
      piece.deallocate()
    }

    /// Whether this connection has resumed the session of an earlier one.
    var isResumed: Bool { SSL_session_reused(connection) != 0 }

    /// Agrees with the server on a secure connection, and verifies the server. Blocks no longer than until the
    /// deadline.
    /// - Throws: ``RedisSharedStateError/Code/tlsFailed``, ``RedisSharedStateError/Code/disconnected``,
    ///   ``RedisSharedStateError/Code/timedOut``.
    func shakeHands(until deadline: Instant) throws(RedisSharedStateError) {
      try expectServer()
      if let session = context.takeSession(with: server) { SSL_set_session(connection, session.pointer) }
      var hasHeard = false
      while true {
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        if result != 1, SSL_get_error(connection, result) != SSL_ERROR_WANT_READ {
          let failure = fail(isShakingHands: true)
          // The alert with the reason.
          _ = try? flush()
          throw failure
        }
        while try !flush() { try wait(for: .writable, until: deadline, hasHeard) }
        if result == 1 {
          // With this version, the server offers sessions only afterwards.
          if SSL_version(connection) >= TLS1_3_VERSION { session = TLSSession(of: connection) }
          return
        }
        try wait(for: .readable, until: deadline, hasHeard)
        do throws(RedisSharedStateError) {
          hasHeard = try receive() > 0 || hasHeard
        } catch {
          guard case .disconnected(let reason) = error.cause else { throw error }
          throw .disconnected(reason: "\(reason), during the TLS handshake")
        }
      }
    }

    /// The deadline is checked even when data arrives: partial data does not extend it.
    private func wait(
      for wanted: Readiness,
      until deadline: Instant,
      _ hasHeard: Bool
    ) throws(RedisSharedStateError) {
      guard Instant.now < deadline, try !base.wait(for: wanted, until: deadline).isEmpty else {
        throw .handshakeTimedOut(isSilent: !hasHeard)
      }
    }

    /// Has the certificate of the server verified for its name, and sends the server the expected name.
    private func expectServer() throws(RedisSharedStateError) {
      let isUsable =
        switch server {
        case .name(let name):
          SSL_set1_host(connection, name) == 1 && shared_state_tls_set_server_name(connection, name) == 1
        case .address(let address):
          X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), address) == 1
        }
      guard isUsable else { throw .tlsFailed(reason: "no server can have the name that it is expected to have") }
      // A common name is no host name.
      SSL_set_hostflags(
        connection,
        CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
      )
    }

    // MARK: The transport

    /// A resumed session keeps the server's certificate, which is not verified again.
    var certificates: [KnownCertificate] {
      let server = shared_state_tls_peer_certificate(connection)
      defer { X509_free(server) }
      let holders: [(RedisStore.Certificate.Holder, OpaquePointer?)] = [
        (.server, server), (.own, SSL_get_certificate(connection)),
      ]
      return holders.compactMap { holder, certificate in
        certificate.flatMap(Self.expiry(of:)).map { KnownCertificate(holder, expires: $0) }
      }
    }

    private static func expiry(of certificate: OpaquePointer) -> Date? {
      var time = tm()
      guard ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1 else { return nil }
      return Date(timeIntervalSince1970: TimeInterval(timegm(&time)))
    }

    var descriptor: CInt { base.descriptor }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
      var count = 0
      do throws(RedisSharedStateError) {
        if let failure { throw failure }
        var mayHaveMore = true
        while count < buffer.count {
          ERR_clear_error()
          let rest = buffer[count...]
          let result = SSL_read(
            connection,
            UnsafeMutableRawBufferPointer(rebasing: rest).baseAddress,
            CInt(clamping: rest.count)
          )
          if result > 0 {
            count += Int(result)
            continue
          }
          try checkRead(result)
          // What did not fill the last piece was all that had arrived.
          guard mayHaveMore, case let received = try receive(), received > 0 else { break }
          mayHaveMore = received == piece.count
        }
        keepSession()
        // The answers of TLS itself, such as new keys. The next write sends what does not leave now, or reports why
        // not: what the server has said comes first.
        _ = try? flush()
      } catch {
        failure = error
      }
      holdsInput = failure != nil || count == buffer.count
      if count == 0, let failure { throw failure }
      return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
      var written = 0
      while written < bytes.count {
        if encryptedBytes == 0 {
          let next = UnsafeRawBufferPointer(rebasing: bytes[written...].prefix(Self.pieceBytes))
          ERR_clear_error()
          guard SSL_write(connection, next.baseAddress, CInt(next.count)) > 0 else { throw fail(isShakingHands: false) }
          encryptedBytes = next.count
        }
        guard try flush() else { break }
        written += encryptedBytes
        encryptedBytes = 0
      }
      return written
    }

    func wait(
      for wanted: Readiness,
      until deadline: Instant
    ) throws(RedisSharedStateError) -> Readiness {
      if holdsInput, wanted.contains(.readable) { return .readable }
      return try base.wait(for: wanted, until: deadline)
    }

    func close() {
      guard base.descriptor >= 0 else { return }
      if failure == nil, SSL_is_init_finished(connection) != 0 {
        ERR_clear_error()
        SSL_shutdown(connection)
        _ = try? flush()
      }
      // Without this, OpenSSL would not let the session of a connection that has broken be resumed.
      SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
      base.close()
    }

    // MARK: The bytes in between

    /// Hands OpenSSL what has arrived, and returns how much that was.
    private func receive() throws(RedisSharedStateError) -> Int {
      let count = try base.read(into: piece)
      if count > 0 { BIO_write(incoming, piece.baseAddress, CInt(count)) }
      return count
    }

    /// Writes what is encrypted, without waiting, and returns whether all of it has left.
    @discardableResult
    private func flush() throws(RedisSharedStateError) -> Bool {
      while true {
        var bytes: UnsafeMutablePointer<CChar>?
        let count = shared_state_tls_held(outgoing, &bytes)
        guard count > 0 else { return true }
        var left = try base.write(UnsafeRawBufferPointer(start: bytes, count: count))
        guard left > 0 else { return false }
        while left > 0 { left -= Int(max(1, BIO_read(outgoing, piece.baseAddress, CInt(min(left, piece.count))))) }
      }
    }

    /// - Throws: The reason why nothing comes any more. Otherwise there is nothing more to decrypt at present.
    private func checkRead(_ result: CInt) throws(RedisSharedStateError) {
      switch SSL_get_error(connection, result) {
      case SSL_ERROR_WANT_READ: break
      case SSL_ERROR_ZERO_RETURN: throw .disconnected(reason: "the server closed the connection")
      default: throw fail(isShakingHands: false)
      }
    }

    private func fail(isShakingHands: Bool) -> RedisSharedStateError {
      let error = TLSFailure(of: connection)
        .error(server: server, hasIdentity: context.hasIdentity, isShakingHands: isShakingHands)
      failure = error
      return error
    }

    /// Keeps a session that the server has offered since the last look.
    private func keepSession() {
      guard SSL_get_session(connection) != session?.pointer, let current = TLSSession(of: connection) else { return }
      session = current
      if SSL_SESSION_is_resumable(current.pointer) != 0 { context.keep(current, with: server) }
    }
  }
#endif
