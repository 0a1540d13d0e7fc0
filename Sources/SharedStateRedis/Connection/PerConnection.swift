/// One element for each of the two connections of a link, found without hashing.
struct PerConnection<Element> {
  private var subscriber: Element
  private var writer: Element

  /// Creates the element of each connection, the subscriber's first.
  init<Failure>(_ make: (ConnectionPurpose) throws(Failure) -> Element) throws(Failure) {
    subscriber = try make(.subscriber)
    writer = try make(.writer)
  }

  /// The element of the connection for this purpose.
  subscript(purpose: ConnectionPurpose) -> Element {
    _read {
      switch purpose {
      case .writer: yield writer
      case .subscriber: yield subscriber
      }
    }
    _modify {
      switch purpose {
      case .writer: yield &writer
      case .subscriber: yield &subscriber
      }
    }
  }

  /// Both elements.
  var values: [Element] { [subscriber, writer] }
}

extension PerConnection: Sendable where Element: Sendable {}
