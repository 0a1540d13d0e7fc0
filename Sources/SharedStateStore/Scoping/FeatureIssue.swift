import SharedState

/// Reports what a feature is used wrongly for.
@usableFromInline
package struct FeatureIssue: Sendable {
  /// Takes the place of the report at the line of the reducer: a test store reports at the line of the test.
  @TaskLocal package static var report: (@Sendable (String) -> Void)?

  /// Reports, with the action and its feature.
  /// - Parameter problem: What is wrong, between the name of the feature and the action.
  @usableFromInline
  static func report<State, Action>(
    _ problem: String,
    _ action: Action,
    of state: State.Type,
    advice: String,
    at location: SourceLocation
  ) {
    let message = """
      '\(feature(of: state))' \(problem):

      \(Difference.dump(action).indented(by: 4))

      \(advice)
      """
    if let report { report(message) } else { location.report(message) }
  }

  /// The name of a feature, by its state.
  package static func feature<State>(of state: State.Type) -> String {
    var name = String(reflecting: state)
    // What tells local types apart is of no interest, and neither is the module.
    name = name.replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    if let dot = name.firstIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
    if name.hasSuffix(".State") { name.removeLast(".State".count) }
    return name
  }
}

extension String {
  /// The same lines, further to the right.
  package func indented(by count: Int) -> String {
    split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "" : String(repeating: " ", count: count) + $0 }
      .joined(separator: "\n")
  }
}
