extension RedisConfiguration {
  /// How a store and its server authenticate each other, over TLS 1.2 or later.
  ///
  /// All files are in the PEM format. They are read before an attempt to connect, again whenever they have changed.
  public struct TLS: Hashable, Sendable {
    /// The certificate and the key with which this service proves its identity to the server.
    public struct Identity: Hashable, Sendable {
      /// The path of the certificate, which the intermediate certificates may follow.
      public var certificate: String
      /// The path of its private key, without a passphrase.
      public var key: String

      /// Names the two files.
      public init(certificate: String, key: String) {
        (self.certificate, self.key) = (certificate, key)
      }
    }

    /// The path of the certificates that are trusted to vouch for the server; `nil`: those that the system trusts.
    public var authority: String?
    /// Presented to the server if it asks for a certificate; `nil`: there is none.
    public var identity: Identity?
    /// The name, or the address, that the server's certificate must contain as a subject alternative name; `nil`: the
    /// host of the address.
    public var serverName: String?

    /// Without arguments: trusts the authorities of the system, and expects a certificate for the host of the address.
    public init(authority: String? = nil, identity: Identity? = nil, serverName: String? = nil) {
      (self.authority, self.identity, self.serverName) = (authority, identity, serverName)
    }
  }
}

extension RedisConfiguration.TLS {
  /// - Throws: ``RedisSharedStateError/Code/unsupported``, ``RedisSharedStateError/Code/invalidURL``.
  func validate() throws(RedisSharedStateError) {
    guard Self.isSupported else { throw .unsupported(feature: "TLS") }
    for (name, path) in [("ca", authority), ("certificate", identity?.certificate), ("key", identity?.key)] {
      guard path.map({ !$0.isEmpty && !$0.utf8.contains(0) }) ?? true else {
        throw .invalidURL(reason: "its '\(name)' is not the path of a file")
      }
    }
    // OpenSSL takes a name that begins with a dot for any name below it.
    guard serverName.map({ RedisEndpoint.isUsable(host: $0) && !$0.hasPrefix(".") }) ?? true else {
      throw .invalidURL(reason: "its 'server-name' is not a name or an address")
    }
  }

  private static var isSupported: Bool {
    #if TLS
      true
    #else
      false
    #endif
  }
}
