/// `@ObservableState`: who reads a property of the state hears of its change.
struct ObservableStateExpansion {
  private let declaration: Declaration

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    guard ["struct", "enum"].contains(declaration.keyword) else {
      throw ExpansionDiagnostic(
        message: "'@ObservableState' is for a struct or an enum. A state is a value.",
        place: .declaration(offset: declaration.offset)
      )
    }
  }

  func members() throws(ExpansionDiagnostic) -> String {
    declaration.keyword == "enum" ? try membersOfEnum() : try membersOfStruct()
  }

  // MARK: - Structs

  private func membersOfStruct() throws(ExpansionDiagnostic) -> String {
    let access = declaration.memberAccess
    var lines = [
      "@SharedStateStore.ObservationStateIgnored",
      "var _$observationRegistrar = SharedStateStore.ObservationStateRegistrar()",
      "",
      "\(access)var _$id: SharedStateStore.ObservableStateID {",
      "  _$observationRegistrar.id",
      "}",
      "",
      "\(access)mutating func _$willModify() {",
      "  _$observationRegistrar.willModify()",
      "}",
    ]
    lines += try inPlaceAccess()
    if isCoded { lines += [""] + (try codingKeys()) }
    return lines.joinedLines
  }

  /// How the properties are changed in their places: a key path to one copies it.
  private func inPlaceAccess() throws(ExpansionDiagnostic) -> [String] {
    let cases = try declaration.lines { member throws(ExpansionDiagnostic) in
      guard ObservedPropertyExpansion.isTracked(member), member.bindings.count == 1,
        let name = member.bindings[0].name, member.bindings[0].accessors == nil,
        // What is isolated, or not everywhere available, cannot be used here.
        member.attributes.allSatisfy({ $0.baseName == "ObservationStateTracked" })
      else { return [] }
      return [
        "case \\Self.\(name):",
        "  return SharedStateStore._$InPlaceAccess(\\Self.\(name)) { state, body in body(&state.\(name)) }",
      ]
    }
    guard !cases.isEmpty else { return [] }
    let head = "\(declaration.memberAccess)static func _$inPlaceAccess(to property: Swift.AnyKeyPath) -> Any? {"
    return ["", head] + (["switch property {"] + cases + ["default: return nil", "}"]).indented + ["}"]
  }

  /// Whether the compiler is to make the code that writes it and reads it.
  private var isCoded: Bool {
    let coded = ["Codable", "Encodable", "Decodable"]
    let isCoded = declaration.inheritedTypes.contains { type in
      coded.contains { type.text == $0 || type.text == "Swift.\($0)" }
    }
    return isCoded && !declaration.allDeclarations.contains { $0.name == "CodingKeys" }
  }

  /// Keeps the names of the properties, whose storage has others.
  private func codingKeys() throws(ExpansionDiagnostic) -> [String] {
    let keys = try declaration.lines { member throws(ExpansionDiagnostic) in
      member.bindings.compactMap { binding in
        guard let name = binding.name, !member.hasModifier("static"), !member.hasModifier("lazy") else { return nil }
        if let accessors = binding.accessors, !accessors.areObservers { return nil }
        if member.keyword == "let", binding.value != nil { return nil }
        guard ObservedPropertyExpansion.isTracked(member) || member.hasAttribute("Presents") else {
          return "case \(name)"
        }
        return "case \(name.withoutBackticks.prefixed("_")) = \(name.withoutBackticks.literal)"
      }
    }
    let rawType = keys.isEmpty ? "" : "Swift.String, "
    return ["private enum CodingKeys: \(rawType)Swift.CodingKey {"] + keys.indented + ["}"]
  }

  // MARK: - Enums

  private func membersOfEnum() throws(ExpansionDiagnostic) -> String {
    let access = declaration.memberAccess
    var number = -1
    let identities = try declaration.lines { member throws(ExpansionDiagnostic) in
      member.cases.map { one in
        number += 1
        if one.isSimple { return "case .\(one.name): return .case(\(number))" }
        if one.parameters?.count == 1 {
          return "case .\(one.name)(let state): return SharedStateStore._$id(of: state).case(\(number))"
        }
        return "case .\(one.name): return SharedStateStore.ObservableStateID().case(\(number))"
      }
    }
    let modifications = try declaration.lines { member throws(ExpansionDiagnostic) in
      member.cases.flatMap { one -> [String] in
        guard let values = one.parameters, values.count == 1 else { return ["case .\(one.name): break"] }
        let argument = (values[0].argumentLabel.map { "\($0): " } ?? "") + "state"
        return [
          "case .\(one.name)(var state):",
          "  SharedStateStore._$willModify(&state)",
          "  self = .\(one.name)(\(argument))",
        ]
      }
    }
    var lines = ["\(access)var _$id: SharedStateStore.ObservableStateID {"]
    lines += (["switch self {"] + identities + ["}"]).indented + ["}", ""]
    lines += ["\(access)mutating func _$willModify() {"]
    lines += (["switch self {"] + modifications + ["}"]).indented + ["}"]
    return lines.joinedLines
  }
}
