#if TLS
  import Glibc
  import Synchronization

  /// Opens TLS connections.
  final class TLSDialer: Dialer {
    private let base: any Dialer
    private let tls: RedisConfiguration.TLS
    private let loaded = Mutex<Loaded?>(nil)

    private struct Loaded {
      let versions: [FileVersion?]
      let context: TLSContext
    }

    /// - Parameter base: Opens the connections that carry the encrypted bytes.
    init(over base: any Dialer, _ tls: RedisConfiguration.TLS) {
      (self.base, self.tls) = (base, tls)
    }

    /// - Throws: The errors of the base, ``RedisSharedStateError/Code/tlsFailed``,
    ///   ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/timedOut``.
    func dial(
      _ endpoint: RedisEndpoint,
      until deadline: inout Instant
    ) throws(RedisSharedStateError) -> any Transport {
      guard case .tcp(let host, _) = endpoint else { return try base.dial(endpoint, until: &deadline) }
      // An unusable file is reported whether or not the server answers.
      let context = try currentContext()
      let transport = try base.dial(endpoint, until: &deadline)
      return try secure(transport, host, context, until: deadline)
    }

    /// Agrees with the server on a secure connection, over a transport that is connected.
    ///
    /// - Parameter host: The host of the server's address.
    /// - Throws: As ``dial(_:until:)``.
    func secure(
      _ transport: any Transport,
      to host: String,
      until deadline: Instant
    ) throws(RedisSharedStateError) -> TLSTransport {
      try secure(transport, host, try currentContext(), until: deadline)
    }

    private func secure(
      _ transport: any Transport,
      _ host: String,
      _ context: TLSContext,
      until deadline: Instant
    ) throws(RedisSharedStateError) -> TLSTransport {
      let secured = TLSTransport(over: transport, context, TLSServerName(tls.serverName ?? host))
      try secured.shakeHands(until: deadline)
      return secured
    }

    /// The context for the files as they are now. Sessions that were agreed on with other files end with their context.
    private func currentContext() throws(RedisSharedStateError) -> TLSContext {
      try loaded.withLock { loaded throws(RedisSharedStateError) in
        // Taken before the files are read, so that a change in between is noticed next time.
        let versions = [tls.authority, tls.identity?.certificate, tls.identity?.key].map {
          $0.flatMap { FileVersion(path: $0) }
        }
        if let loaded, loaded.versions == versions { return loaded.context }
        let context = try TLSContext(tls)
        loaded = Loaded(versions: versions, context: context)
        return context
      }
    }
  }

  /// What changes whenever a file is written or replaced.
  private struct FileVersion: Equatable {
    let file: [UInt64]
    let times: [Int]

    /// `nil`: there is no such file.
    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      file = [UInt64(status.st_dev), UInt64(status.st_ino), UInt64(status.st_size)]
      times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
  }
#endif
