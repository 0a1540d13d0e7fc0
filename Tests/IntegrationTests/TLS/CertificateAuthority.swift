#if TLS
  import Foundation
  import SharedStateRedis
  import SharedStateRedisTesting

  /// An authority of a test, and the certificates that it has issued, in a temporary folder.
  final class CertificateAuthority: Sendable {
    let folder: URL

    private static let names = "DNS:localhost,IP:127.0.0.1"
    private static let settings = """
      [ca]
      default_ca = authority
      [authority]
      database = FOLDER/index.txt
      serial = FOLDER/serial
      new_certs_dir = FOLDER
      policy = policy
      default_md = sha256
      unique_subject = no
      [policy]
      commonName = supplied
      """

    init() async throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try write(Self.settings.replacing("FOLDER", with: folder.path), "ca.cnf")
      try write("", "index.txt")
      let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
      try await openssl(
        ["req", "-x509", "-subj", "/CN=\(folder.lastPathComponent)", "-days", "30"] + newKey
          + ["-keyout", path("ca.key"), "-out", certificate]
      )
      try await openssl(
        ["req", "-new", "-subj", "/CN=localhost"] + newKey + ["-keyout", path("key.pem"), "-out", path("request.pem")]
      )
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The path of the authority's own certificate.
    var certificate: String { path("ca.pem") }

    /// Issues a certificate for the key of this folder; all have the common name `localhost`.
    ///
    /// - Parameters:
    ///   - names: The alternative names; `nil`: none.
    ///   - from: The time from which it is valid.
    func issue(
      _ file: String = "certificate.pem",
      for names: String? = names,
      from: String = "20200101000000Z",
      until: String = "20400101000000Z"
    ) async throws -> RedisConfiguration.TLS.Identity {
      try write(names.map { "subjectAltName=\($0)" } ?? "basicConstraints=CA:FALSE", "extensions.cnf")
      try await openssl([
        "ca", "-batch", "-notext", "-config", path("ca.cnf"), "-create_serial", "-cert", certificate, "-keyfile",
        path("ca.key"), "-in", path("request.pem"), "-out", path(file), "-extfile", path("extensions.cnf"),
        "-startdate", from, "-enddate", until,
      ])
      return .init(certificate: path(file), key: path("key.pem"))
    }

    /// Starts a server that has a certificate of this authority.
    func server(
      requiresIdentity: Bool = false,
      password: String? = nil,
      configuration: [String] = []
    ) async throws -> PrivateRedisServer {
      try PrivateRedisServer(
        security: try await security(requiresIdentity: requiresIdentity),
        password: password,
        configuration: configuration
      )
    }

    func security(requiresIdentity: Bool = false) async throws -> PrivateRedisServer.Security {
      .init(authority: certificate, identity: try await issue(), requiresIdentity: requiresIdentity)
    }

    func path(_ file: String) -> String { folder.appending(path: file).path }

    func write(_ text: String, _ file: String) throws {
      try text.write(toFile: path(file), atomically: true, encoding: .utf8)
    }

    func openssl(_ arguments: [String]) async throws {
      _ = try await CommandLineTool.errors("openssl", arguments)
    }
  }

  extension PrivateRedisServer {
    /// Lets new connections see another certificate.
    func show(_ identity: RedisConfiguration.TLS.Identity) throws {
      let reply = try command("CONFIG", "SET", "tls-cert-file", identity.certificate, "tls-key-file", identity.key)
      precondition(reply.text == "OK", "The certificate is refused: \(reply)")
    }
  }
#endif
