import IssueReporting

extension Shared {
  /// Unwraps a shared optional, or returns `nil` when its value is `nil` now.
  ///
  /// When the optional becomes `nil` later, the unwrapped share keeps the last value that it has seen, and ignores
  /// writes. When the optional gets a value again, the share follows it again.
  public init?(_ base: Shared<Value?>) {
    guard let place = base.projection.place.appending(WrappedPart()) else { return nil }
    self.init(place)
  }

  /// A reader of a value that a closure computes from this one, at each read.
  public func read<Member>(_ compute: @escaping @Sendable (Value) -> Member) -> SharedReader<Member> {
    SharedReader<Member>(projection.place.mapping(compute))
  }
}

extension SharedReader {
  /// Unwraps the reader of an optional, or returns `nil` when its value is `nil` now.
  ///
  /// When the optional becomes `nil` later, the unwrapped reader keeps the last value that it has seen. When the
  /// optional gets a value again, the reader follows it again.
  public init?(_ base: SharedReader<Value?>) {
    guard let place = base.projection.place.appending(WrappedPart()) else { return nil }
    self.init(place)
  }

  /// A reader of the unwrapped value of a shared optional, or `nil` when that is `nil` now.
  ///
  /// State the type, as in `SharedReader<Int>($optional)`: otherwise the result is a reader of the optional.
  @_disfavoredOverload
  public init?(_ base: Shared<Value?>) {
    self.init(SharedReader<Value?>(base))
  }

  /// A reader of the value that the share points to now.
  public init(projectedValue: Shared<Value>) {
    self.init(projectedValue)
  }

  /// A reader of a value that a closure computes from this one, at each read.
  public func read<Member>(_ compute: @escaping @Sendable (Value) -> Member) -> SharedReader<Member> {
    SharedReader<Member>(projection.place.mapping(compute))
  }
}

extension Shared {
  /// Shares a value that is held in memory only, as `init(value:)` does.
  ///
  /// When the value is itself a key, an issue is reported: most likely the code means a share of the value that the key
  /// keeps, which needs a default.
  @_disfavoredOverload
  public init(
    _ value: Value,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    if value is any SharedReaderKey {
      reportIssue(
        """
        'Shared.init(_:)' shares the key itself, of type '\(Value.self)', as a plain value. To share what the key keeps, \
        give a default: '@Shared(key) var value = default', or bake one into the key.
        """,
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    }
    self.init(value: value, fileID: fileID, line: line)
  }
}
