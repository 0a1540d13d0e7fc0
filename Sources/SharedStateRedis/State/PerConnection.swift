/// Something for each of the two connections of a link, or nothing; found without hashing.
package struct PerConnection<Element> {
  private var writer: Element?
  private var subscriber: Element?

  /// Has nothing for either.
  package init() {}

  /// What belongs to the connection for this purpose.
  package subscript(purpose: ConnectionPurpose) -> Element? {
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

  /// What there is.
  package var values: [Element] { [writer, subscriber].compactMap(\.self) }
}

extension PerConnection: Sendable where Element: Sendable {}
