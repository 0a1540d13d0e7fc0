import Observation
import SharedState

@Observable
final class CounterModel {
  @ObservationIgnored @Shared(.appStorage("count")) var count = 0

  func incrementButtonTapped() {
    $count.withLock { $0 += 1 }
  }
}
