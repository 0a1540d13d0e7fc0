/// Makes the extensions for the conformances that the declaration lacks.
struct ConformanceExpansion {
  private let request: ExpansionRequest

  init(_ request: ExpansionRequest) {
    self.request = request
  }

  func extensions(members: [String] = []) throws(ExpansionDiagnostic) -> String {
    let missing = request.missingConformances
    guard let type = request.type, !missing.isEmpty else { return "" }
    let declaration = try request.parsed()
    // Only an enum of reducers is a reducer of cases.
    let isCaseReducer = declaration.keyword == "enum"
    let conformances = missing.filter { isCaseReducer || $0.split(separator: ".").last != "CaseReducer" }
    guard !conformances.isEmpty else { return "" }
    let attributes = declaration.attributes(named: "available").map { $0.fragment.text + "\n" }.joined()
    let head = "\(attributes)extension \(type): \(conformances.map(Self.qualified).joined(separator: ", ")) {"
    return members.isEmpty ? head + "}" : ([head] + members.indented + ["}"]).joinedLines
  }

  /// The compiler passes names without modules, which a type of the user may hide.
  private static func qualified(_ name: String) -> String {
    name.contains(".") ? name : (name == "Sendable" ? "Swift." : "SharedStateStore.") + name
  }
}
