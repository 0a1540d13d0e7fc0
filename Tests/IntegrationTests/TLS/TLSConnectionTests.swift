#if TLS
  import Foundation
  @testable import RedisConnectionContract
  import SharedStateDependencies
  @testable import SharedStateRedis
  import SharedStateRedisTesting
  import Testing

  @Suite("A TLS connection", .timeLimit(.minutes(5)))
  struct TLSConnectionTests {
    private func url(_ server: PrivateRedisServer, host: String = "127.0.0.1", _ query: String) -> String {
      "rediss://\(host):\(server.port)\(query.isEmpty ? "" : "?\(query)")"
    }

    /// The error of an attempt to connect.
    private func error(
      _ server: PrivateRedisServer,
      _ url: String,
      within timeout: Duration = .seconds(20)
    ) -> RedisSharedStateError? {
      #expect(throws: RedisSharedStateError.self) {
        try ConnectionDriver(server, url: url, connectTimeout: timeout)
      }
    }

    // MARK: Who the server is

    @Test(
      "A connection is made if the certificate names the host, the address or the server-name",
      arguments: [
        ("DNS:localhost", "localhost", ""), ("DNS:localhost", "127.0.0.1", "localhost."),
        ("IP:127.0.0.1", "127.0.0.1", ""),
        ("DNS:shop.example.test", "127.0.0.1", "shop.example.test"),
        ("DNS:*.example.test", "127.0.0.1", "shop.example.test"),
        ("IP:::1", "localhost", "::1"), ("IP:fe80::1", "localhost", "fe80::1%25eth0"),
      ]
    )
    func accepted(names: String, host: String, serverName: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(password: "p@ss")
      try server.show(try await authority.issue("shown.pem", for: names))
      let name = serverName.isEmpty ? "" : "&server-name=\(serverName)"
      let url = "rediss://:p%40ss@\(host):\(server.port)?ca=\(authority.certificate)\(name)"
      for purpose in ConnectionPurpose.allCases {
        let driver = try ConnectionDriver(server, purpose, url: url)
        guard case .pong = try driver.reply(to: .ping) else {
          Issue.record("There is no answer to a ping on the connection of the \(purpose).")
          return
        }
      }
    }

    struct Refusal: CustomTestStringConvertible {
      let testDescription: String
      var host = "localhost"
      var names: String? = "DNS:localhost,IP:127.0.0.1"
      var from = "20200101000000Z"
      var until = "20400101000000Z"
      var query = ""
      let reason: String

      static let all = [
        Refusal(testDescription: "another host", names: "DNS:other.test,IP:127.0.0.1", reason: "hostname mismatch"),
        Refusal(
          testDescription: "another address",
          host: "127.0.0.1",
          names: "DNS:localhost,IP:127.0.0.2",
          reason: "IP address mismatch"
        ),
        Refusal(
          testDescription: "a part of the name, and anything",
          names: "DNS:sh*.example.test",
          query: "&server-name=shop.example.test",
          reason: "hostname mismatch"
        ),
        Refusal(testDescription: "nobody, but with a common name", names: nil, reason: "hostname mismatch"),
        Refusal(testDescription: "a time that has passed", until: "20210101000000Z", reason: "certificate has expired"),
        Refusal(testDescription: "a time to come", from: "20390101000000Z", reason: "certificate is not yet valid"),
      ]
    }

    @Test(
      "A server certificate is rejected if it does not match the host or is not currently valid",
      arguments: Refusal.all
    )
    func refused(refusal: Refusal) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      try server.show(
        try await authority.issue("shown.pem", for: refusal.names, from: refusal.from, until: refusal.until)
      )
      let error = error(server, url(server, host: refusal.host, "ca=\(authority.certificate)\(refusal.query)"))
      #expect(error?.code == .tlsFailed)
      #expect(error?.isPermanent == true)
      // OpenSSL 1.1.1 begins some with a capital letter.
      #expect(
        error?.description.lowercased().contains(refusal.reason.lowercased()) == true,
        "\(String(describing: error))"
      )
    }

    @Test("A server certificate is rejected if its authority is not trusted", arguments: [true, false])
    func unknownAuthority(trustsTheSystem: Bool) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      let other = try await CertificateAuthority()
      let error = error(server, url(server, trustsTheSystem ? "" : "ca=\(other.certificate)"))
      #expect(error?.code == .tlsFailed)
      #expect(error?.description.contains("in certificate chain") == true, "\(String(describing: error))")
    }

    @Test(
      "The handshake announces a host name to the server, but never an IP address",
      arguments: ["localhost", "127.0.0.1"]
    )
    func serverNameIndication(host: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      let socket = RecordingTransport(try socket(to: server))
      let tls = RedisConfiguration.TLS(authority: authority.certificate)
      _ = try TLSDialer(over: DialsNothing(), tls).secure(socket, to: host, until: .now + .seconds(20))
      let isSent = Data(socket.written).range(of: Data(host.utf8)) != nil
      #expect(isSent == (host == "localhost"))
    }

    // MARK: Who we are

    @Test(
      "A connection without a client certificate is refused if the server requires one",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func missingIdentity(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(requiresIdentity: true, configuration: ["tls-protocols \(version)"])
      for _ in 0..<10 {
        let error = error(server, url(server, "ca=\(authority.certificate)"))
        #expect(error?.code == .tlsFailed)
        let expected = version == "TLSv1.2" ? "may require a certificate" : "refuses our certificate"
        #expect(error?.description.contains(expected) == true, "\(String(describing: error))")
      }
    }

    @Test(
      "A connection with a client certificate from an unknown authority is refused",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func unknownIdentity(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(requiresIdentity: true, configuration: ["tls-protocols \(version)"])
      let other = try await CertificateAuthority()
      let unknown = try await other.issue()
      let error = error(
        server,
        url(server, "ca=\(authority.certificate)&certificate=\(unknown.certificate)&key=\(unknown.key)")
      )
      #expect(error?.code == .tlsFailed)
      #expect(
        error?.description.contains("refuses our certificate (unknown CA)") == true,
        "\(String(describing: error))"
      )
    }

    @Test(
      "A connection with a client certificate that the server trusts is accepted",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func knownIdentity(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(requiresIdentity: true, configuration: ["tls-protocols \(version)"])
      _ = try ConnectionDriver(server).committed(.sample(.sample))
    }

    @Test("Unusable TLS files make connecting fail with an error that names the option but no path")
    func unusableFiles() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      try authority.write("no certificate", "junk.pem")
      let other = try await CertificateAuthority()
      try await authority.openssl([
        "pkey", "-in", authority.path("key.pem"), "-aes256", "-passout", "pass:secret", "-out",
        authority.path("locked.pem"),
      ])
      let (good, key) = (authority.path("certificate.pem"), authority.path("key.pem"))
      let (junk, none) = (authority.path("junk.pem"), authority.path("none.pem"))
      for (option, query) in [
        ("ca", "ca=\(junk)"), ("ca", "ca=\(none)"), ("certificate", "certificate=\(junk)&key=\(key)"),
        ("certificate", "certificate=\(none)&key=\(key)"), ("key", "certificate=\(good)&key=\(junk)"),
        ("key", "certificate=\(good)&key=\(none)"), ("key", "certificate=\(good)&key=\(other.path("ca.key"))"),
        ("key", "certificate=\(good)&key=\(authority.path("locked.pem"))"),
      ] {
        let error = error(server, url(server, query))
        #expect(error?.code == .tlsFailed)
        let text = error?.description ?? ""
        #expect(text.contains("the file of '\(option)' cannot be used: "), "\(text)")
        #expect(!text.contains(authority.folder.lastPathComponent), "\(text)")
      }
    }

    // MARK: Something else than TLS

    @Test("A TLS connection to a port without TLS fails with an error that states the cause")
    func plainPort() async throws {
      let authority = try await CertificateAuthority()
      let server = try PrivateRedisServer()
      let error = error(server, url(server, "ca=\(authority.certificate)"), within: .milliseconds(200))
      #expect(error?.code == .timedOut)
      #expect(error?.description == "The TLS handshake timed out; is this a plain port?")
    }

    @Test("A plain connection to a TLS port fails with an error that mentions TLS")
    func plainConnection() async throws {
      let server = try await CertificateAuthority().server()
      let error = error(server, "redis://127.0.0.1:\(server.port)")
      #expect(error?.description.contains("TLS") == true, "\(String(describing: error))")
    }

    @Test("A server that supports only TLS 1.1 is refused")
    func oldVersion() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      try server.command("CONFIG", "SET", "tls-ciphers", "DEFAULT:@SECLEVEL=0", "tls-protocols", "TLSv1.1")
      let error = error(server, url(server, "ca=\(authority.certificate)"))
      #expect(error?.code == .tlsFailed)
      #expect(error?.description.contains("protocol version") == true, "\(String(describing: error))")
    }

    // MARK: The bytes

    @Test(
      "A connection that breaks at any byte of the handshake fails as disconnected and never hangs",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func brokenHandshake(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(configuration: ["tls-protocols \(version)"])
      let tls = RedisConfiguration.TLS(authority: authority.certificate)
      func dial(_ transport: BrittleTransport) throws(RedisSharedStateError) -> TLSTransport {
        // A dialer of its own has no session to resume.
        try TLSDialer(over: DialsNothing(), tls).secure(transport, to: "localhost", until: .now + .seconds(20))
      }
      let whole = BrittleTransport(try socket(to: server))
      let (read, written) = withExtendedLifetime(try dial(whole)) { _ in (whole.readBytes, whole.writtenBytes) }
      #expect(read > 500)
      #expect(written > 200)
      // Signatures differ by some bytes in their length.
      for bytes in 0..<read - 16 {
        #expect(throws: broken) { try dial(BrittleTransport(try socket(to: server), reading: bytes)) }
      }
      for bytes in 0..<written - 16 {
        let error = #expect(throws: RedisSharedStateError.self) {
          try dial(BrittleTransport(try socket(to: server), writing: bytes))
        }
        #expect(error == BrittleTransport.broken)
      }
    }

    @Test(
      "A record of the handshake that is damaged on its way is no permanent failure",
      arguments: [("TLSv1.2", 2), ("TLSv1.3", 1)]
    )
    func damagedHandshake(version: String, read: Int) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(configuration: ["tls-protocols \(version)"])
      let dialer = TLSDialer(over: DialsNothing(), RedisConfiguration.TLS(authority: authority.certificate))
      let transport = DamagingTransport(try socket(to: server), at: read)
      let error = #expect(throws: RedisSharedStateError.self) {
        try dialer.secure(transport, to: "localhost", until: .now + .seconds(20))
      }
      #expect(error?.code == .disconnected)
      let isNamed = error?.description.contains("not intact") == true
      #expect(isNamed, "\(String(describing: error))")
    }

    private let broken = RedisSharedStateError.disconnected(reason: "broken by the test, during the TLS handshake")

    @Test("A TLS connection works even if its transport passes only one byte at a time", arguments: [1, 7, 1_000])
    func stuttering(bytes: Int) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      let tls = RedisConfiguration.TLS(authority: authority.certificate)
      let transport = try TLSDialer(over: DialsNothing(), tls)
        .secure(StutteringTransport(try socket(to: server), bytes: bytes), to: "localhost", until: .now + .seconds(20))
      let stream = RedisStream(transport: transport)
      let text = String(repeating: "x", count: 200 * bytes)
      for word in ["one", text, "three"] {
        stream.formatter.add { command in
          command.argument("ECHO")
          command.argument(word)
        }
      }
      var answers: [String] = []
      while answers.count < 3 {
        #expect(try stream.receive(until: .now + .seconds(20)) { answers.append($0.string) })
      }
      #expect(answers == ["one", text, "three"])
    }

    @Test("A wait for input returns immediately while decrypted bytes are left")
    func heldInput() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      let tls = RedisConfiguration.TLS(authority: authority.certificate)
      let transport = try TLSDialer(over: DialsNothing(), tls)
        .secure(try socket(to: server), to: "localhost", until: .now + .seconds(20))
      let (command, answer) = (Array("ECHO 0123456789\r\n".utf8), Array("$10\r\n0123456789\r\n".utf8))
      #expect(try command.withUnsafeBytes { bytes throws(RedisSharedStateError) in try transport.write(bytes) } == 17)
      var heard: [UInt8] = []
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
      defer { buffer.deallocate() }
      while heard.isEmpty {
        guard try transport.wait(for: .readable, until: .now + .seconds(20)) == .readable else { break }
        heard += buffer.prefix(try transport.read(into: buffer))
      }
      // The descriptor shows nothing any more.
      while heard.count < answer.count {
        #expect(transport.holdsInput)
        guard try transport.wait(for: .readable, until: .now) == .readable else { break }
        heard += buffer.prefix(try transport.read(into: buffer))
      }
      #expect(heard == answer)
      #expect(!transport.holdsInput)
      #expect(try transport.read(into: buffer) == 0)
    }

    @Test("A document of 40 MB is written and read over TLS")
    func large() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      let driver = try ConnectionDriver(server)
      var random = SplitMix64(seed: 1)
      let numbers = (0..<5_000_000).map { _ in random.next() }
      let document = numbers.withUnsafeBytes { Data($0) }
      _ = try driver.committed(.sample(.sample, .document(document, isLarge: true)))
      #expect(try driver.read([.sample]).first?.content.document == document)
    }

    // MARK: Resumption

    @Test(
      "A connection resumes the previous TLS session until a certificate file changes",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func resumption(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(requiresIdentity: true, configuration: ["tls-protocols \(version)"])
      let connector = HiredisConnector(configuration: try RedisConfiguration(url: server.url))
      func isResumed() throws -> Bool? {
        let connection = try connector.connect(purpose: .writer, waker: Waker(), deadline: .now + .seconds(20))
        defer { connection.close() }
        let transport = (connection as? HiredisConnection)?.stream.transport as? TLSTransport
        return transport?.isResumed
      }
      #expect(try isResumed() == false)
      for _ in 0..<3 { #expect(try isResumed() == true) }
      // A connection that the server breaks does not cost the session.
      let connection = try connector.connect(purpose: .writer, waker: Waker(), deadline: .now + .seconds(20))
      try server.command("CLIENT", "KILL", "TYPE", "normal")
      #expect(throws: RedisSharedStateError.self) {
        while true { _ = try connection.receive(until: .now + .seconds(20)) }
      }
      connection.close()
      #expect(try isResumed() == true)
      _ = try await authority.issue()
      #expect(try isResumed() == false)
      #expect(try isResumed() == true)
    }

    private func socket(to server: PrivateRedisServer) throws(RedisSharedStateError) -> any Transport {
      var deadline = Instant.now + .seconds(20)
      return try SocketDialer().dial(.tcp(host: "127.0.0.1", port: server.port), until: &deadline)
    }

    /// The tests connect themselves.
    private struct DialsNothing: Dialer {
      func dial(
        _ endpoint: RedisEndpoint,
        until deadline: inout Instant
      ) throws(RedisSharedStateError) -> any Transport {
        throw .stopped
      }
    }
  }

  @Suite("The contract of connections, with TLS", .timeLimit(.minutes(5)))
  struct TLSContractTests {
    @Test("Each check of the connection contract passes over TLS", arguments: RedisConnectionContract.allChecks)
    func contract(check: RedisConnectionContract) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server()
      try check.run(on: RedisConnectionContract.Server(url: server.url))
    }
  }
#endif
