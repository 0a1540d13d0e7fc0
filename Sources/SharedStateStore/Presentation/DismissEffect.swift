import IssueReporting
public import SharedStateDependencies

/// Dismisses a child from one of its own effects.
///
/// ```swift
/// @Dependency(\.dismiss) var dismiss
///
/// case .doneButtonTapped:
///   return .run { _ in await dismiss() }
/// ```
///
/// It sends the parent the action that dismisses the child: `dismiss` for a presented child, `popFrom` for an element
/// of a stack. The effects of the child are then cancelled, including the one that has called this.
public struct DismissEffect: Sendable {
  private let dismiss: (@Sendable () async -> Void)?

  fileprivate init() {
    dismiss = nil
  }

  /// A closure to call instead, as in a test of the child alone.
  public init(_ dismiss: @escaping @Sendable () async -> Void) {
    self.dismiss = dismiss
  }

  /// Dismisses the child.
  ///
  /// A test store records it if its own feature dismisses itself, and ends the effects. Elsewhere it reports an issue if
  /// nothing is presented.
  public func callAsFunction(
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    if let dismiss { return await dismiss() }
    let context = EffectContext.current
    guard let dismiss = context?.dismiss ?? context?.dismissAlone else {
      return reportIssue(
        """
        'dismiss' was called where nothing is presented. Call it in an effect of a feature that 'ifLet' or 'forEach' \
        presents, or override the dependency in a test of the feature alone.
        """,
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    }
    guard !Task.isCancelled else { return }
    dismiss()
  }
}

extension DependencyValues {
  /// Dismisses the present feature.
  public var dismiss: DismissEffect {
    get { self[DismissKey.self] }
    set { self[DismissKey.self] = newValue }
  }

  /// Whether the present feature can be dismissed: whether `ifLet` or `forEach` presents it.
  public var isPresented: Bool {
    get { self[IsPresentedKey.self] ?? (ThreadRecord.isInsidePresented || EffectContext.current?.dismiss != nil) }
    set { self[IsPresentedKey.self] = newValue }
  }

  private enum DismissKey: DependencyKey {
    static var liveValue: DismissEffect { DismissEffect() }
    static var testValue: DismissEffect { DismissEffect() }
  }

  private enum IsPresentedKey: DependencyKey {
    static var liveValue: Bool? { nil }
    static var testValue: Bool? { nil }
  }
}
