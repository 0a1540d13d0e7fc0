#if TLS
  import Foundation
  import Logging
  import MetricsTestKit
  import SharedState
  @testable import SharedStateRedis
  import SharedStateRedisTesting
  import Testing

  @Suite("A store with TLS", .timeLimit(.minutes(5)), .endsStores)
  struct TLSStoreTests {
    private func store(_ url: String, _ journal: Journal = Journal()) throws -> RedisStore {
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      configuration.operationTimeout = .seconds(3_600)
      return RedisStore(configuration, logger: journal.logger("service")).endingWithTest
    }

    private func failsForNow(_ store: RedisStore, because text: String) async throws {
      try await store.status("a failure because of \(text)") { status in
        guard case .reconnecting(_, let error) = status, case .tlsFailed(let reason) = error.cause else { return false }
        return reason.contains(text)
      }
    }

    @Test("Two stores share values over TLS")
    func shares() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(password: "secret")
      let stores = [try store(server.url), try store(server.url)]
      let shares = stores.map { Shared(wrappedValue: 0, .redis("count", store: $0)) }
      try await stores[1].isUp()
      shares[0].withLock { $0 = 5 }
      try await shares[0].save()
      try await shares[1].becomes(5)
    }

    @Test("An expired server certificate fails a load immediately without exposing the password")
    func failsFast() async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(password: "hunter2")
      try server.show(try await authority.issue("shown.pem", until: "20210101000000Z"))
      let journal = Journal()
      let store = try store(server.url, journal)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      let thrown = await #expect(throws: RedisSharedStateError.self) {
        try await inTime("load()") { try await share.load() }
      }
      let error = try #require(thrown)
      #expect(error.code == .tlsFailed)
      await #expect(throws: error) { try await store.waitUntilConnected(within: .seconds(3_600)) }
      // A log handler runs on another thread.
      try await eventually("the failure is logged") { !journal.entries("No connection to Redis.").isEmpty }
      let told = journal.entries("No connection to Redis.")
      #expect(told.first?.level == .error)
      #expect(told.first?.error == error.description)
      #expect(told.allSatisfy { $0.error?.contains("hunter2") == false })
    }

    @Test(
      "A store says that a certificate expires within a day, and that it has expired while sessions are resumed",
      arguments: ["TLSv1.2", "TLSv1.3"]
    )
    func expiringCertificates(version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await authority.server(requiresIdentity: true, configuration: ["tls-protocols \(version)"])
      let expiry = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 + 30).rounded())
      let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
      let until = expiry.formatted(style).replacing("T", with: "")
      try server.show(try await authority.issue("expiring.pem", until: until))
      let (journal, metrics) = (Journal(), TestMetrics())
      let forwarder = try Forwarder(to: server.port)
      let url = server.url.replacing(":\(server.port)", with: ":\(forwarder.port)")
      var configuration = try RedisConfiguration(url: url)
      configuration.retryQuickly(label: "service")
      let store = RedisStore(configuration, logger: journal.logger("service"), metrics: metrics).endingWithTest
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await share.load()
      let own = Date(timeIntervalSince1970: 2_208_988_800)
      #expect(store.certificates.map(\.holder) == [.server, .own])
      #expect(store.certificates.map(\.expires) == [expiry, own])
      let warning = "The certificate of the server expires within a day"
      try await eventually("a warning") { journal.entries(warning).map(\.level) == [.warning] }
      try await eventually("an error") { journal.entries("has expired").map(\.level) == [.error] }
      #expect(store.health == .live)
      for certificate in store.certificates {
        let gauges = metrics.recorders(
          label: "shared_state_certificate_expires_seconds",
          dimensions: [("certificate", certificate.holder.rawValue)]
        )
        #expect(gauges.map(\.lastValue) == [certificate.expires.timeIntervalSince1970])
      }
      // Sessions are resumed, so the store connects again, and says nothing new.
      forwarder.cut()
      try await eventually("another connection") {
        metrics.counterTotal(label: "shared_state_disconnections") > 0 && store.health == .live
      }
      #expect(journal.entries("The certificate of").count == 2)
      try await share.updateAtomically { $0 += 1 }
    }

    @Test("A store rereads the trusted authorities when the server's certificate comes from another one")
    func exchangedAuthority() async throws {
      let (old, new) = (try await CertificateAuthority(), try await CertificateAuthority())
      let server = try await old.server()
      try FileManager.default.copyItem(atPath: old.certificate, toPath: old.path("trusted.pem"))
      let url = server.url.replacing("ca.pem", with: "trusted.pem")
      let store = try store(url)
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await store.isUp()
      try server.show(try await new.issue())
      try cutConnections(url.replacing(old.path("trusted.pem"), with: new.certificate))
      try await failsForNow(store, because: "issuer certificate")
      share.withLock { $0 = 7 }
      try old.write(try String(contentsOfFile: new.certificate, encoding: .utf8), "trusted.pem")
      try await store.isUp()
      try await share.save()
    }

    @Test("A store uses a replaced client certificate for its next connection")
    func exchangedIdentity() async throws {
      let (authority, other) = (try await CertificateAuthority(), try await CertificateAuthority())
      let server = try await authority.server(requiresIdentity: true)
      let (good, bad) = (try await authority.issue(), try await other.issue())
      func use(_ identity: RedisConfiguration.TLS.Identity) throws {
        for (source, file) in [(identity.certificate, "mine.pem"), (identity.key, "mine.key")] {
          try authority.write(try String(contentsOfFile: source, encoding: .utf8), file)
        }
      }
      try use(bad)
      let (certificate, key) = (authority.path("mine.pem"), authority.path("mine.key"))
      let port = server.port
      let store = try store(
        "rediss://localhost:\(port)?ca=\(authority.certificate)&certificate=\(certificate)&key=\(key)"
      )
      let share = Shared(wrappedValue: 0, .redis("count", store: store))
      try await failsForNow(store, because: "refuses our certificate")
      share.withLock { $0 = 7 }
      try use(good)
      try await store.isUp()
      try await share.save()
      // While it is connected, the files may be exchanged as well: the next connection is made with the new ones.
      try use(try await authority.issue("next.pem"))
      try cutConnections(server.url)
      share.withLock { $0 = 8 }
      try await share.save()
    }

    private func cutConnections(_ url: String) throws {
      let reply = try RedisCommandClient(url: url).command(["CLIENT", "KILL", "TYPE", "normal"].map { Data($0.utf8) })
      guard case .integer(let count) = reply else {
        Issue.record("The connections were not cut: \(reply)")
        return
      }
      #expect(count > 0)
    }
  }
#endif
