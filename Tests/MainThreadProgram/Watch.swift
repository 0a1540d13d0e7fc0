import Observation
import OpenCombine
import SharedState
import SharedStateCombine

/// Watches a share in every available way, with closures of the main actor. The program traps if one of them runs on
/// another thread.
@MainActor
final class Watch {
  private let strategy: Strategy
  private let place: String
  private let share: Shared<Int>
  private var published: [Int] = []
  private var newest: Int?
  private var observed: Int?
  private var cancellable: AnyCancellable?

  init(_ strategy: Strategy, at place: String) throws {
    self.strategy = strategy
    self.place = place
    share = try strategy.share(at: place)
  }

  /// Has the share changed, and prints the published values once every observer has seen them.
  func run() async throws {
    cancellable = share.publisher.sink { [weak self] value in self?.published.append(value) }
    let loop = Task { for await value in share.updates { newest = value } }
    observe()
    // A change after the load cannot be missed.
    try await share.load()
    for value in 1...3 {
      try await strategy.changeElsewhere(to: value, at: place)
      while published.last != value || newest != value || observed != value {
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    share.withLock { $0 = 4 }
    loop.cancel()
    print(published)
  }

  private func observe() {
    let value = withObservationTracking {
      share.wrappedValue
    } onChange: { [weak self] in
      Task { @MainActor in self?.observe() }
    }
    observed = value
    // Every observation has this gap; the article ObservingChanges explains it.
    if share.wrappedValue != value { Task { @MainActor in self.observe() } }
  }
}
