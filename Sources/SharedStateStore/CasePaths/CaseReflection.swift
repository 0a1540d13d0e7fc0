prefix operator /

/// The path of a case by its name, as documents of before case key paths write it.
///
/// It looks at the value, which takes about a microsecond.
public prefix func / <Root, Value>(embed: @escaping @Sendable (Value) -> Root) -> AnyCasePath<Root, Value> {
  AnyCasePath(embed: embed) { root in
    guard let child = Mirror(reflecting: root).children.first, let value = child.value as? Value,
      Mirror(reflecting: embed(value)).children.first?.label == child.label
    else { return nil }
    return value
  }
}
