/// The attributes for the members of a `@Reducer`.
struct ReducerMemberExpansion {
  private let declaration: Declaration
  private let isOfStruct: Bool

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    let parent = request.parent.flatMap { try? Parser.declaration(in: $0) }
    isOfStruct = parent?.keyword == "struct"
  }

  func attributes() throws(ExpansionDiagnostic) -> String {
    guard isOfStruct else { return "" }
    var attributes: [String] = []
    if declaration.keyword == "enum", ["State", "Action"].contains(declaration.name) {
      if !declaration.hasAttribute("CasePathable") { attributes.append("@SharedStateStore.CasePathable") }
      if declaration.name == "State", !declaration.hasAttribute("dynamicMemberLookup") {
        attributes.append("@dynamicMemberLookup")
      }
    }
    if declaration.isBody, !isBuilt, case .getter? = declaration.bindings[0].accessors {
      attributes.append("@SharedStateStore.ReducerBuilder<Self.State, Self.Action>")
    }
    return attributes.joined(separator: "\n")
  }

  private var isBuilt: Bool {
    declaration.attributes.contains { $0.baseName.hasSuffix("Builder") }
  }
}
