/// `@ObservableState`: readers of a property are notified of its changes.
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
    ]
    lines += try inPlaceAccesses()
    if isCoded { lines += [""] + (try codingKeys()) }
    return lines.joinedLines
  }

  /// In-place accesses to the properties; a key path to a property copies it.
  private func inPlaceAccesses() throws(ExpansionDiagnostic) -> [String] {
    let accesses = try declaration.lines { member throws(ExpansionDiagnostic) in
      guard let name = Self.nameInPlace(member) else { return [] }
      return [
        "accesses.append(SharedStateStore._$InPlaceAccess(\\Self.\(name)) { state, body in body(&state.\(name)) })"
      ]
    }
    guard !accesses.isEmpty else { return [] }
    let type = "[any SharedStateStore._$PropertyAccess<Self>]"
    let head = ["", "\(declaration.memberAccess)static var _$inPlaceAccesses: \(type) {"]
    return head + (["var accesses: \(type) = []"] + accesses + ["return accesses"]).indented + ["}"]
  }

  /// The name by which a child reducer changes the property in place; `nil` when that is not possible.
  private static func nameInPlace(_ member: Declaration) -> String? {
    guard member.bindings.count == 1, let name = member.bindings[0].name, member.bindings[0].accessors == nil else {
      return nil
    }
    // An isolated property, or one that is not available everywhere, cannot be used here.
    func hasOnly(_ attribute: String) -> Bool { member.attributes.allSatisfy { $0.baseName == attribute } }
    if ObservedPropertyExpansion.isTracked(member), hasOnly("ObservationStateTracked") { return name }
    return member.hasAttribute("Presents") && hasOnly("Presents") ? "$" + name.withoutBackticks : nil
  }

  /// Whether the compiler should synthesise coding.
  private var isCoded: Bool {
    let coded = ["Codable", "Encodable", "Decodable"]
    let isCoded = declaration.inheritedTypes.contains { type in
      coded.contains { type.text == $0 || type.text == "Swift.\($0)" }
    }
    return isCoded && !declaration.allDeclarations.contains { $0.name == "CodingKeys" }
  }

  /// Keeps the names of the properties, because their storage has other names.
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
    var lines = ["\(access)var _$id: SharedStateStore.ObservableStateID {"]
    lines += (["switch self {"] + identities + ["}"]).indented + ["}"]
    return lines.joinedLines
  }
}
