/// A declaration as the macros' parser sees it, in the format of ``SyntaxSummary``.
enum ParserSummary {
  static func lines(of declaration: Declaration) -> [String] {
    var lines = ["\(declaration.keyword) \(name(of: declaration))"]
    lines += declaration.attributes.map { "attribute \(plain($0.fragment))" }
    lines += declaration.modifiers.map { "modifier \($0.name)\($0.detail.map { "(\($0))" } ?? "")" }
    lines += declaration.genericParameters.map { "generic \(plain($0.fragment))" }
    lines += declaration.inheritedTypes.map { "inherits \(plain($0))" }
    lines += declaration.parameters.map(line)
    if let result = declaration.result { lines.append("result \(plain(result))") }
    lines += declaration.requirements.map { "where \(plain($0))" }
    for binding in declaration.bindings {
      lines.append(
        "binding \(plain(binding.pattern)) type \(plain(binding.type)) value \(plain(binding.value)) \(line(binding.accessors))"
      )
    }
    if declaration.keyword == "subscript" { lines.append(line(declaration.accessors)) }
    for one in declaration.cases {
      lines.append("case \(one.name) raw \(plain(one.rawValue))")
      lines += one.parameters.map { ["values"] + $0.map(line) } ?? []
    }
    if declaration.hasBody { lines.append("body") }
    if let members = declaration.members { lines += ["{"] + members.flatMap(self.lines) + ["}"] }
    return lines
  }

  private static func lines(of member: Member) -> [String] {
    switch member {
    case .declaration(let declaration):
      lines(of: declaration)
    case .expansion(let fragment):
      ["expansion \(plain(fragment))"]
    case .conditional(let clauses):
      clauses.flatMap { ["\($0.keyword) \(plain($0.condition))"] + $0.members.flatMap(lines) } + ["#endif"]
    }
  }

  private static func line(_ parameter: Parameter) -> String {
    let attributes = parameter.attributes.map { plain($0.fragment) + " " }.joined()
    let modifiers = parameter.modifiers.map { $0 + " " }.joined()
    let names = "\(parameter.label ?? "-") \(parameter.name ?? "-")"
    let type = plain(parameter.type) + (parameter.isVariadic ? "..." : "")
    return "parameter \(attributes)\(modifiers)\(names) type \(type) default \(plain(parameter.defaultValue))"
  }

  private static func line(_ accessors: Accessors?) -> String {
    switch accessors {
    case nil: "stored"
    case .getter: "getter"
    case .list(let names): "accessors \(names.joined(separator: " "))"
    }
  }

  private static func name(of declaration: Declaration) -> String {
    switch declaration.keyword {
    case "extension": withoutSpace(declaration.name)
    case "import", "operator", "precedencegroup": "-"
    default: declaration.name.isEmpty ? "-" : declaration.name
    }
  }

  private static func plain(_ fragment: Fragment?) -> String {
    fragment.map { withoutSpace($0.source.pieces(in: $0.range).map(\.text).joined()) } ?? "-"
  }

  static func withoutSpace(_ text: String) -> String {
    // SwiftSyntax counts an escaped line break in a string as space, too.
    String(text.replacing("\\\n", with: "").unicodeScalars.filter { !$0.properties.isWhitespace })
  }
}
