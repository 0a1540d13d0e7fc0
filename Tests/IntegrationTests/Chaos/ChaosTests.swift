import Foundation
import SharedStateRedisTesting
import Testing

/// The time to go on after the first round, in seconds. The default is 0.
private let secondsToGoOn = ProcessInfo.processInfo.environment["CHAOS_SECONDS"].flatMap { Int($0) } ?? 0

@Suite("Chaos", .serialized, .timeLimit(.minutes(20 + secondsToGoOn / 60)))
struct ChaosTests {
  private static let seed = ProcessInfo.processInfo.environment["CHAOS_SEED"].flatMap { UInt64($0) }

  @Test(
    "Every guarantee holds for services in several processes while their server is disturbed",
    arguments: ChaosRun.Restart.allCases
  )
  func guarantees(restart: ChaosRun.Restart) async throws {
    await run { try ChaosRun(seed: $0, restart: restart) }
  }

  @Test("Every guarantee holds while there are two primaries, and a Sentinel is outdated")
  func guaranteesInForks() async {
    await run { try await ChaosRun(replicatedWithSeed: $0) }
  }

  #if TLS
    @Test("Every guarantee holds over TLS")
    func guaranteesOverTLS() async throws {
      let authority = try await CertificateAuthority()
      let security = try await authority.security(requiresIdentity: true)
      await run { try ChaosRun(seed: $0, restart: .withData, security: security) }
    }
  #endif

  private func run(_ makeRun: (UInt64) async throws -> ChaosRun) async {
    let seed = Self.seed ?? .random(in: 0..<1_000_000)
    let end = ContinuousClock.now + .seconds(secondsToGoOn)
    do {
      try await makeRun(seed).rounds(until: end)
    } catch {
      Issue.record("The run of CHAOS_SEED=\(seed) failed. \(error)")
    }
  }
}
