#if TLS
  internal import COpenSSL

  /// Why a TLS connection ended, or could not be made.
  enum TLSFailure: Equatable {
    /// The server's certificate is not accepted, for this reason of OpenSSL.
    case refusedCertificate(code: Int)
    /// The server has sent this alert.
    case alert(Int)
    /// What has arrived was damaged on its way: a check of its integrity has failed.
    case damaged(reason: String)
    /// What has arrived is not TLS, or not as expected.
    case malformed(reason: String)

    /// Takes what OpenSSL has reported on this thread for a connection.
    init(of connection: OpaquePointer) {
      // The cipher may have reported an error of its own before TLS did.
      let last = ERR_peek_last_error()
      let error = ERR_get_error()
      ERR_clear_error()
      let reason = Int(shared_state_tls_reason(error))
      if reason == Int(SSL_R_CERTIFICATE_VERIFY_FAILED) {
        self = .refusedCertificate(code: SSL_get_verify_result(connection))
      } else if case let alert = reason - Int(SSL_AD_REASON_OFFSET), (0...255).contains(alert) {
        self = .alert(alert)
      } else if Self.ofIntegrity.contains(Int(shared_state_tls_reason(last))) {
        self = .damaged(reason: Self.text(of: last))
      } else {
        self = .malformed(reason: Self.text(of: error))
      }
    }

    /// As an error of the store.
    ///
    /// - Parameters:
    ///   - server: The name or the address that the certificate had to contain.
    ///   - hasIdentity: Whether the server could be shown a certificate.
    ///   - isShakingHands: Whether the connection was being made.
    func error(server: TLSServerName, hasIdentity: Bool, isShakingHands: Bool) -> RedisSharedStateError {
      switch self {
      case .refusedCertificate(let code):
        let text = String(cString: X509_verify_cert_error_string(code))
        return .tlsFailed(reason: "the server's certificate is not accepted for '\(server.text)': \(text)")
      case .alert(let alert):
        let text = Self.text(ofAlert: alert)
        if Self.aboutCertificates.contains(alert) {
          return .tlsFailed(
            reason: "the server refuses our certificate (\(text))"
              + (hasIdentity ? "" : ": there is none. Set 'certificate' and 'key'")
          )
        }
        if Self.aboutTerms.contains(alert) {
          return .tlsFailed(
            reason: "the server refuses the terms of the connection (\(text))"
              + (hasIdentity ? "" : "; it may require a certificate")
          )
        }
        return .disconnected(reason: "the server has sent the TLS alert '\(text)'")
      case .damaged(let reason):
        return .disconnected(
          reason: "what has arrived is not intact: \(reason)" + (isShakingHands ? ", during the TLS handshake" : "")
        )
      case .malformed(let reason):
        return isShakingHands
          ? .tlsFailed(reason: "the server does not speak TLS as expected: \(reason)")
          : .disconnected(reason: "what has arrived is not as expected: \(reason)")
      }
    }

    /// The text of an error of OpenSSL that is not about a connection, such as one of a file.
    static func text(of error: UInt) -> String {
      if shared_state_tls_is_system_error(error) != 0 {
        return SocketTransport.text(of: shared_state_tls_reason(error))
      }
      return ERR_reason_error_string(error).map { String(cString: $0) } ?? "unknown error"
    }

    private static func text(ofAlert alert: Int) -> String {
      // Releases before 3.0 do not know the name of this one.
      alert == certificateRequired ? "certificate required" : String(cString: SSL_alert_desc_string_long(CInt(alert)))
    }

    private static let certificateRequired = 116

    /// A record whose authentication code is wrong, a digest of the handshake, or a signature of it.
    private static let ofIntegrity: Set = [
      Int(SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC), Int(SSL_R_DIGEST_CHECK_FAILED), Int(SSL_R_BAD_SIGNATURE),
    ]

    /// Bad, unsupported, revoked, expired or unknown certificate, unknown authority, access denied, certificate
    /// required.
    private static let aboutCertificates: Set = [42, 43, 44, 45, 46, 48, 49, certificateRequired]
    /// Handshake failure, illegal parameter, protocol version, insufficient security, unrecognized name.
    private static let aboutTerms: Set = [40, 47, 70, 71, 112]
  }
#endif
