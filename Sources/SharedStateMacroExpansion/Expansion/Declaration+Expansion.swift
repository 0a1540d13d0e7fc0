extension Declaration {
  /// The modifier for a new member with the access of the type itself, followed by a space.
  var memberAccess: String {
    for access in ["public", "package"] where hasModifier(access) { return access + " " }
    return hasModifier("open") ? "public " : ""
  }

  /// The modifier for a new member with the access of the declaration beside it, followed by a space.
  var writtenAccess: String {
    for access in ["public", "package", "fileprivate", "private"] where hasModifier(access) { return access + " " }
    return ""
  }

  /// The availability of the declaration, which also applies to its expansion.
  var availability: [String] {
    attributes(named: "available").map(\.fragment.text)
  }

  /// Whether it is deprecated on all platforms.
  var isDeprecated: Bool { isAvailable(as: "deprecated") }

  /// Whether no code may use it, on all platforms.
  var isUnavailable: Bool { isAvailable(as: "unavailable") }

  private func isAvailable(as state: String) -> Bool {
    attributes(named: "available").contains { attribute in
      guard let source = attribute.arguments.map({ Source($0.text) }) else { return false }
      return source.tokens.map { source.text($0.range) }.starts(with: ["(", "*", ",", state])
    }
  }

  /// Calls a closure with each declaration in the block. The resulting lines are placed in the same `#if` as the
  /// declaration.
  func lines(_ make: (Declaration) throws(ExpansionDiagnostic) -> [String]) throws(ExpansionDiagnostic) -> [String] {
    try Self.lines(of: members ?? [], make)
  }

  private static func lines(
    of members: [Member],
    _ make: (Declaration) throws(ExpansionDiagnostic) -> [String]
  ) throws(ExpansionDiagnostic) -> [String] {
    var lines: [String] = []
    for member in members {
      switch member {
      case .declaration(let declaration):
        lines += try make(declaration)
      case .conditional(let clauses):
        var isEmpty = true
        var conditional: [String] = []
        for clause in clauses {
          let inner = try Self.lines(of: clause.members, make)
          if !inner.isEmpty { isEmpty = false }
          conditional.append(([clause.keyword] + (clause.condition.map { [$0.text] } ?? [])).joined(separator: " "))
          conditional += inner
        }
        if !isEmpty { lines += conditional + ["#endif"] }
      case .expansion:
        break
      }
    }
    return lines
  }
}

extension [String] {
  /// The lines, indented by two spaces.
  var indented: [String] {
    flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false) }.map { $0.isEmpty ? "" : "  " + $0 }
  }

  var joinedLines: String { joined(separator: "\n") }
}

extension String {
  /// A name without its backticks.
  var withoutBackticks: String {
    // Compares scalars instead of characters, because the first letter may combine with a backtick.
    let scalars = unicodeScalars
    guard scalars.count > 2, scalars.first == "`", scalars.last == "`" else { return self }
    return String(scalars.dropFirst().dropLast())
  }
}

extension String {
  /// The name with a prefix, without backticks.
  func prefixed(_ prefix: String) -> String {
    let bytes = Array(utf8)
    var index = 0
    while index < bytes.count {
      let scalar = Scalar(bytes, at: index)
      guard scalar.isIdentifierPart else { return "`\(prefix)\(self)`" }
      index += scalar.length
    }
    return prefix + self
  }

  /// A string literal of the text.
  var literal: String {
    "\"" + map { $0 == "\"" ? "\\\"" : String($0) }.joined() + "\""
  }
}

extension EnumCase {
  var isSimple: Bool { (parameters ?? []).isEmpty }
}

extension Parameter {
  /// The label with which the value is written; `nil` when it has none.
  var argumentLabel: String? { label == "_" ? nil : label }

  /// The type of the value outside of the case. `Self` would mean another type there, and a stored closure escapes
  /// anyway.
  func type(in root: String) -> String {
    var text = type.text(replacing: "Self", by: root)
    for attribute in ["@escaping ", "@autoclosure "] where text.hasPrefix(attribute) {
      text.removeFirst(attribute.count)
    }
    return text
  }
}
