import Observation
import Synchronization

/// The simplest observable class: a mutex and a registrar.
final class BareObservable: Observable, Sendable {
  private let mutex = Mutex(0)
  private let registrar = ObservationRegistrar()

  var count: Int {
    registrar.access(self, keyPath: \.count)
    return mutex.withLock { $0 }
  }

  func increment() {
    registrar.withMutation(of: self, keyPath: \.count) {
      mutex.withLock { $0 &+= 1 }
    }
  }
}
