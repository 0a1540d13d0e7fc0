/// One element for each of the two connections of a link, found without hashing.
package struct PerConnection<Element> {
  private var writer: Element
  private var subscriber: Element

  /// Creates the element of each connection.
  package init(_ make: (ConnectionPurpose) -> Element) {
    writer = make(.writer)
    subscriber = make(.subscriber)
  }

  /// The element of the connection for this purpose.
  package subscript(purpose: ConnectionPurpose) -> Element {
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
  package var values: [Element] { [writer, subscriber] }
}

extension PerConnection: Sendable where Element: Sendable {}
