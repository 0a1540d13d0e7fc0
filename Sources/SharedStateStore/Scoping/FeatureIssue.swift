public import SharedState

/// Reports wrong uses of a feature.
@usableFromInline
package struct FeatureIssue: Sendable {
  /// Replaces the report at the line of the reducer: a test store reports at the line of the test.
  @TaskLocal package static var report: (@Sendable (String) -> Void)?

  /// Reports, with the action and its feature.
  /// - Parameter problem: The problem, worded to stand between the name of the feature and the action.
  @usableFromInline
  static func report<State, Action>(
    _ problem: String,
    _ action: Action,
    of state: State.Type,
    advice: String,
    at location: CallSite
  ) {
    let message = """
      '\(feature(of: state))' \(problem):

      \(Difference.dump(action).indented(by: 4))

      \(advice)
      """
    if let report { report(message) } else { location.report(message) }
  }

  /// The name of a feature, derived from the type of its state.
  package static func feature<State>(of state: State.Type) -> String {
    var name = String(reflecting: state)
    // Drop the module and the context of local types, which do not help a reader.
    name = name.replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    if let dot = name.firstIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
    if name.hasSuffix(".State") { name.removeLast(".State".count) }
    return name
  }
}

extension String {
  /// The same lines, indented.
  package func indented(by count: Int) -> String {
    split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "" : String(repeating: " ", count: count) + $0 }
      .joined(separator: "\n")
  }
}
