/// `@CasePathable`: a type with a path to each case.
struct CasePathableExpansion {
  private let declaration: Declaration

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    guard declaration.keyword == "enum" else {
      throw ExpansionDiagnostic(
        message: "'@CasePathable' is for an enum. A \(declaration.keyword) has no cases.",
        place: .declaration(offset: declaration.offset)
      )
    }
    try Self.checkNames(of: declaration)
  }

  private var root: String { declaration.name }

  func members() throws(ExpansionDiagnostic) -> String {
    let access = declaration.memberAccess
    var lines = ["\(access)struct AllCasePaths: SharedStateStore.CasePathSequence {"]
    lines += ["\(access)typealias _$Root = \(root)"].indented
    lines += try declaration.lines { member throws(ExpansionDiagnostic) in
      // No value is ever in such a case, and the closures of a path must not name it.
      if member.isUnavailable { return [] }
      var lines: [String] = []
      for one in member.cases { lines += try path(of: one, in: member) }
      return lines
    }.indented
    lines += try iterator().indented
    lines += ["}", "", "\(access)static var allCasePaths: AllCasePaths {", "  AllCasePaths()", "}"]
    return lines.joinedLines
  }

  private func path(of one: EnumCase, in member: Declaration) throws(ExpansionDiagnostic) -> [String] {
    let values = one.parameters ?? []
    if values.contains(where: \.isVariadic) {
      throw ExpansionDiagnostic(
        message: "A case has no variadic values.",
        place: .declaration(offset: one.offset)
      )
    }
    let types = values.map { $0.type(in: root) }
    let payload: String
    let embed: String
    let extract: String
    switch values.count {
    case 0:
      payload = "Swift.Void"
      embed = "{ _ in .\(one.name) }"
      extract = "{ if case .\(one.name) = $0 { return () } else { return nil } }"
    case 1:
      payload = types[0]
      // Not a closure, because the compiler reports a closure whose argument has no value as one that never runs.
      embed = "\(root).\(one.name)"
      extract = "{ if case .\(one.name)(let value) = $0 { return value } else { return nil } }"
    default:
      payload = "(" + zip(values, types).map { Self.labelled($0, $1) }.joined(separator: ", ") + ")"
      let arguments = values.indices.map { Self.labelled(values[$0], "$0.\($0)") }.joined(separator: ", ")
      let names = values.indices.map { "let value\($0)" }.joined(separator: ", ")
      let tuple = values.indices.map { Self.labelled(values[$0], "value\($0)") }.joined(separator: ", ")
      embed = "{ .\(one.name)(\(arguments)) }"
      extract = "{ if case .\(one.name)(\(names)) = $0 { return (\(tuple)) } else { return nil } }"
    }
    return member.availability + [
      "\(declaration.memberAccess)var \(one.name): SharedStateStore.AnyCasePath<\(root), \(payload)> {",
      "  SharedStateStore.AnyCasePath(",
      "    embed: \(embed),",
      "    extract: \(extract)",
      "  )",
      "}",
    ]
  }

  private static func labelled(_ value: Parameter, _ text: String) -> String {
    value.argumentLabel.map { "\($0): \(text)" } ?? text
  }

  private func iterator() throws(ExpansionDiagnostic) -> [String] {
    let paths = try declaration.lines { member throws(ExpansionDiagnostic) in
      member.availability.isEmpty ? member.cases.map { "paths.append(\\.\($0.name))" } : []
    }
    let element = "SharedStateStore.PartialCaseKeyPath<\(root)>"
    var lines = ["\(declaration.memberAccess)func makeIterator() -> Swift.IndexingIterator<[\(element)]> {"]
    lines += ["  \(paths.isEmpty ? "let" : "var") paths: [\(element)] = []"] + paths.indented
    return lines + ["  return paths.makeIterator()", "}"]
  }

  // MARK: - Names

  /// Two cases may have the same name if their labels differ, but the name of a path has no labels.
  private static func checkNames(of declaration: Declaration) throws(ExpansionDiagnostic) {
    var names: Set<String> = []
    try checkNames(of: declaration.members ?? [], &names)
  }

  private static func checkNames(of members: [Member], _ names: inout Set<String>) throws(ExpansionDiagnostic) {
    for member in members {
      switch member {
      case .declaration(let declaration):
        for one in declaration.cases where !names.insert(one.name.withoutBackticks).inserted {
          throw ExpansionDiagnostic(
            message:
              "Another case is named '\(one.name)', too. A case path has a name and no labels: rename one of them.",
            place: .declaration(offset: one.offset)
          )
        }
      case .conditional(let clauses):
        // Only one of the clauses is compiled.
        var all = names
        for clause in clauses {
          var inner = names
          try checkNames(of: clause.members, &inner)
          all.formUnion(inner)
        }
        names = all
      case .expansion:
        break
      }
    }
  }
}
