/// The observers of something that other programs may change, and the watch that lasts as long as there are any.
///
/// The first observer begins the watch. It cannot leave before that is done, because it has no subscription yet, and
/// meanwhile no other observer is the first. So a watch never replaces another one, nor begins without an observer.
struct Observers<Observer> {
  private var observers: [UInt64: Observer] = [:]
  private var last: UInt64 = 0
  /// `nil` without observers, and until the first one has begun the watch.
  var watch: SharedSubscription?

  var all: some Collection<Observer> { observers.values }

  /// Each observer with its number, in no order.
  var numbered: some Collection<(key: UInt64, value: Observer)> { observers }

  /// Changes an observer, unless it has been removed.
  mutating func update(_ number: UInt64, _ change: (inout Observer) -> Void) {
    if let index = observers.index(forKey: number) { change(&observers.values[index]) }
  }

  /// Adds an observer, which begins the watch if it is the first.
  mutating func insert(_ observer: Observer) -> (number: UInt64, isFirst: Bool) {
    last += 1
    observers[last] = observer
    return (last, observers.count == 1)
  }

  /// Removes an observer.
  ///
  /// - Returns: The watch, to be cancelled without a lock, if this was the last observer.
  mutating func remove(_ number: UInt64) -> SharedSubscription? {
    observers[number] = nil
    return observers.isEmpty ? watch.take() : nil
  }
}
