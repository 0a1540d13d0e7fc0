import SharedState
import SharedStateRedis

/// Counts how often it was started.
@main
struct Service {
  static func main() async throws {
    @Shared(.redis("starts")) var starts = 0
    try await $starts.updateAtomically { $0 += 1 }
    print("This is start number \(starts).")
  }
}
