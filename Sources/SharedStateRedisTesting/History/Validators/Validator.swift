/// A fold over the events of a history: what one guarantee has to remember of them, and when it is broken.
protocol Validator: Sendable {
  /// Takes in the next event; returns in how many ways, and how, it shows that the guarantee is broken.
  mutating func observe(_ event: History.Event, at position: Int) -> [String]
}
