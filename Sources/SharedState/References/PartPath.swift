/// The way from a value to a part of it that has memory of its own.
@usableFromInline
final class PartPath: @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are constant, and only described here.

  /// The way to the whole; `nil` where that is the value of a reference.
  private let whole: PartPath?
  private let keyPath: AnyKeyPath

  init(whole: PartPath?, keyPath: AnyKeyPath) {
    self.whole = whole
    self.keyPath = keyPath
  }

  /// As Swift code that derives the part.
  var text: String { (whole?.text ?? "") + Self.text(of: keyPath) }

  static func text(of keyPath: AnyKeyPath) -> String { "[dynamicMember: \(keyPath)]" }
}
