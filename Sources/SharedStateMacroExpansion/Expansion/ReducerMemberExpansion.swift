/// The attributes for the members of a `@Reducer`.
struct ReducerMemberExpansion {
  private let declaration: Declaration
  private let isOfStruct: Bool
  private let feature: String
  private let isOfPublic: Bool

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    let parent = request.parent.flatMap { try? Parser.declaration(in: $0) }
    isOfStruct = parent?.keyword == "struct"
    feature = parent?.name ?? ""
    isOfPublic = parent?.hasModifier("public") ?? false
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
    // The compiler infers it, but not for a public type.
    if isOfPublic, declaration.hasModifier("public"), ["struct", "enum"].contains(declaration.keyword),
      ["State", "Action"].contains(declaration.name)
    {
      attributes.append("@SharedStateStore._$Sendable")
    }
    if declaration.isBody, !isBuilt, case .getter? = declaration.bindings[0].accessors {
      let (state, action) = declaration.bodyTypes(of: feature)
      attributes.append("@SharedStateStore.ReducerBuilder<\(state ?? "Self.State"), \(action ?? "Self.Action")>")
    }
    return attributes.joined(separator: "\n")
  }

  private var isBuilt: Bool {
    declaration.attributes.contains { $0.baseName.hasSuffix("Builder") }
  }
}
