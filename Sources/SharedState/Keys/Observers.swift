/// The observers of something that other programs may change. A number stands for each while it is subscribed.
struct Observers<Observer> {
  private var observers: [UInt64: Observer] = [:]
  private var last: UInt64 = 0

  var all: some Collection<Observer> { observers.values }

  /// Each observer with its number, in no order.
  var numbered: some Collection<(key: UInt64, value: Observer)> { observers }

  /// Changes an observer, unless it has been removed.
  mutating func update(_ number: UInt64, _ change: (inout Observer) -> Void) {
    if let index = observers.index(forKey: number) { change(&observers.values[index]) }
  }

  /// Adds an observer, and returns its number.
  mutating func insert(_ observer: Observer) -> UInt64 {
    last += 1
    observers[last] = observer
    return last
  }

  mutating func remove(_ number: UInt64) { observers[number] = nil }
}
