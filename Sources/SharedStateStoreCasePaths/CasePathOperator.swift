public import SharedStateStore

prefix operator /

/// The path of a case by its name, the form used before case key paths.
///
/// Extracting reflects the value, which takes about a microsecond.
public prefix func / <Root, Value>(embed: @escaping @Sendable (Value) -> Root) -> AnyCasePath<Root, Value> {
  AnyCasePath(embed: embed) { root in
    guard let child = Mirror(reflecting: root).children.first, let value = child.value as? Value,
      Mirror(reflecting: embed(value)).children.first?.label == child.label
    else { return nil }
    return value
  }
}

/// The path of a case without a value by its name, the form used before case key paths.
public prefix func / <Root: Equatable & Sendable>(root: Root) -> AnyCasePath<Root, Void> {
  AnyCasePath(embed: { _ in root }, extract: { $0 == root ? () : nil })
}
