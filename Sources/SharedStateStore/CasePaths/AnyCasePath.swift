/// Embeds a value in a case of an enum, and extracts it again.
@frozen
public struct AnyCasePath<Root, Value>: Sendable {
  @usableFromInline
  let embedValue: @Sendable (Value) -> Root
  @usableFromInline
  let extractValue: @Sendable (Root) -> Value?

  /// A path made of two closures, which are called on any thread.
  @inlinable
  public init(
    embed: @escaping @Sendable (Value) -> Root,
    extract: @escaping @Sendable (Root) -> Value?
  ) {
    embedValue = embed
    extractValue = extract
  }

  /// The path that a case key path stands for. Making it takes longer than using it: keep it if you use it often.
  public init(_ keyPath: CaseKeyPath<Root, Value>) {
    self = Case<Root>()[keyPath: keyPath].path(from: Root.self)
  }

  /// The case with a value.
  @inlinable
  public func embed(_ value: Value) -> Root { embedValue(value) }

  /// The value of the case; `nil` when the enum is in another one.
  @inlinable
  public func extract(from root: Root) -> Value? { extractValue(root) }

  /// This path followed by another one.
  public func appending<Member>(path: AnyCasePath<Value, Member>) -> AnyCasePath<Root, Member> {
    AnyCasePath<Root, Member>(
      embed: { [embedValue] in embedValue(path.embed($0)) },
      extract: { [extractValue] in extractValue($0).flatMap { path.extract(from: $0) } }
    )
  }
}

extension AnyCasePath where Root == Value {
  /// The path from a value to itself.
  public init() {
    self.init(embed: { $0 }, extract: { $0 })
  }
}

extension AnyCasePath where Value == Void {
  /// The case, which has no value.
  public func embed() -> Root { embedValue(()) }
}
