/// A key path to a case of an enum, such as `\.child` or `\.child.presented`.
public typealias CaseKeyPath<Root, Value> = KeyPath<Case<Root>, Case<Value>>

/// A key path to a case of an enum, whose value may be of any type.
public typealias PartialCaseKeyPath<Root> = PartialKeyPath<Case<Root>>

/// The type that case key paths lead through.
@dynamicMemberLookup
public struct Case<Value>: Sendable {
  /// `nil` for the root of a key path, and for a case that never occurs.
  private let path: (any CasePathFromSomewhere<Value>)?
  private let isRoot: Bool

  /// The root of all key paths.
  public init() {
    path = nil
    isRoot = true
  }

  private init(path: (any CasePathFromSomewhere<Value>)?) {
    self.path = path
    isRoot = false
  }

  /// A case of this value.
  public subscript<Member>(
    dynamicMember keyPath: KeyPath<Value.AllCasePaths, AnyCasePath<Value, Member>>
  ) -> Case<Member> where Value: CasePathable {
    appending(path: Value.allCasePaths[keyPath: keyPath])
  }

  /// A case that no value is ever in. `@CasePathable` names it for a case whose path is not always available.
  public var _$never: Case<Never> { Case<Never>(path: nil) }

  /// A case of this value, by its path.
  func appending<Member>(path next: AnyCasePath<Value, Member>) -> Case<Member> {
    if isRoot { return Case<Member>(path: next) }
    return Case<Member>(path: path?.followed(by: next))
  }

  /// The whole path, from a root.
  func path<Root>(from root: Root.Type) -> AnyCasePath<Root, Value> {
    if let path = path as? AnyCasePath<Root, Value> { return path }
    if isRoot, let path = AnyCasePath<Value, Value>() as? AnyCasePath<Root, Value> { return path }
    return AnyCasePath(
      embed: { _ in
        preconditionFailure(
          "This key path cannot make a '\(Root.self)' of a '\(Value.self)'. Use the key path of a case."
        )
      },
      extract: { _ in nil }
    )
  }
}

/// A path with an unknown root. Appending to it keeps the root.
private protocol CasePathFromSomewhere<Value>: Sendable {
  associatedtype Value

  func followed<Member>(by path: AnyCasePath<Value, Member>) -> any CasePathFromSomewhere<Member>
  func contains(_ root: Any) -> Bool
  func embed(any value: Any) -> Any?
}

extension AnyCasePath: CasePathFromSomewhere {
  fileprivate func followed<Member>(by path: AnyCasePath<Value, Member>) -> any CasePathFromSomewhere<Member> {
    appending(path: path)
  }

  fileprivate func contains(_ root: Any) -> Bool {
    (root as? Root).map { extract(from: $0) != nil } ?? false
  }

  fileprivate func embed(any value: Any) -> Any? {
    (value as? Value).map { embed($0) }
  }
}

/// A case of an unknown type.
private protocol CaseOfSomething {
  func contains(_ root: Any) -> Bool
  func embed(any value: Any) -> Any?
}

extension Case: CaseOfSomething {
  fileprivate func contains(_ root: Any) -> Bool { path?.contains(root) ?? isRoot }
  fileprivate func embed(any value: Any) -> Any? { isRoot ? value : path?.embed(any: value) }
}

extension KeyPath {
  /// Makes the case of a value.
  public func callAsFunction<Enum, Member>(_ value: Member) -> Enum
  where Root == Case<Enum>, Value == Case<Member> {
    AnyCasePath(self).embed(value)
  }

  /// Makes a case without a value.
  public func callAsFunction<Enum>() -> Enum where Root == Case<Enum>, Value == Case<Void> {
    AnyCasePath(self).embed(())
  }
}

extension PartialKeyPath {
  /// Whether a value is in the case, as a pattern of `switch`.
  public static func ~= <Enum: CasePathable>(keyPath: PartialKeyPath, value: Enum) -> Bool where Root == Case<Enum> {
    keyPath.contains(value)
  }

  /// Makes the case of a value; `nil` when the case takes values of another type.
  public func callAsFunction<Enum>(_ value: Any) -> Enum? where Root == Case<Enum> {
    (Case<Enum>()[keyPath: self] as? any CaseOfSomething)?.embed(any: value) as? Enum
  }

  func contains<Enum>(_ root: Enum) -> Bool where Root == Case<Enum> {
    (Case<Enum>()[keyPath: self] as? any CaseOfSomething)?.contains(root) ?? false
  }
}

extension CasePathable {
  /// Whether this is a case, whatever its value is.
  public func `is`(_ keyPath: PartialCaseKeyPath<Self>) -> Bool {
    keyPath.contains(self)
  }
}
