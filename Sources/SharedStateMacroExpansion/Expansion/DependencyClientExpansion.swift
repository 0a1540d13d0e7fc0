/// `@DependencyClient`: the initializers of a struct of closures.
struct DependencyClientExpansion {
  /// A stored property that an initializer sets.
  private struct Property {
    let name: String
    let type: String
    let value: String?
    let isEndpoint: Bool
    let access: String

    var isSetLast: Bool { isEndpoint && value != nil }
  }

  private static let accesses = ["private", "fileprivate", "", "package", "public"]

  private let declaration: Declaration
  private let properties: [Property]

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    guard declaration.keyword == "struct" else {
      throw ExpansionDiagnostic(
        message: "'@DependencyClient' is for a struct of closures.",
        place: .declaration(offset: declaration.offset)
      )
    }
    var properties: [Property] = []
    for member in declaration.members ?? [] {
      switch member {
      case .declaration(let declaration):
        properties += try Self.properties(of: declaration)
      case .conditional(let clauses):
        for inner in clauses.flatMap({ $0.members.flatMap(\.declarations) }) {
          guard try Self.properties(of: inner).isEmpty else {
            throw ExpansionDiagnostic(
              message: "An initializer cannot have a parameter on a condition. Put the '#if' into the closure, or "
                + "write the initializers by hand.",
              place: .declaration(offset: inner.offset)
            )
          }
        }
      case .expansion:
        break
      }
    }
    self.properties = properties
  }

  private static func properties(of declaration: Declaration) throws(ExpansionDiagnostic) -> [Property] {
    guard ["var", "let"].contains(declaration.keyword), !declaration.hasModifier("static"),
      !declaration.hasModifier("lazy")
    else { return [] }
    var properties: [Property] = []
    for binding in declaration.bindings {
      if let accessors = binding.accessors, !accessors.areObservers { continue }
      if declaration.keyword == "let", binding.value != nil { continue }
      guard let name = binding.name, let type = binding.type else {
        throw ExpansionDiagnostic(
          message: "Write the type of '\(binding.pattern.text)', which becomes a parameter of an initializer.",
          place: .declaration(offset: declaration.offset)
        )
      }
      properties.append(
        Property(
          name: name,
          type: type.text,
          value: binding.value?.rawText,
          isEndpoint: isEndpoint(declaration),
          access: accesses.first { !$0.isEmpty && declaration.hasModifier($0) } ?? ""
        )
      )
    }
    return properties
  }

  /// Whether `@DependencyEndpoint` applies to this member.
  static func isEndpoint(_ declaration: Declaration) -> Bool {
    guard declaration.keyword == "var", !declaration.hasModifier("static"), !declaration.hasModifier("lazy"),
      !declaration.hasAttribute("DependencyEndpointIgnored"), declaration.bindings.count == 1,
      declaration.bindings[0].accessors == nil, let type = declaration.bindings[0].type
    else { return false }
    return Parser.functionType(in: type.text) != nil
  }

  /// The attribute for a member of a client.
  static func attributes(_ request: ExpansionRequest) throws(ExpansionDiagnostic) -> String {
    let declaration = try request.parsed()
    guard isEndpoint(declaration), !declaration.hasAttribute("DependencyEndpoint") else { return "" }
    return "@SharedStateDependenciesMacros.DependencyEndpoint"
  }

  func members() -> String {
    let other = properties.filter { !$0.isEndpoint }
    let lists = other.count == properties.count ? [properties] : [properties, other]
    return lists.map { initializer(of: $0).joinedLines }.joined(separator: "\n\n")
  }

  private func initializer(of properties: [Property]) -> [String] {
    // An endpoint with an initial value is set by its setter, which needs the rest of the client.
    let (last, first) = (properties.filter(\.isSetLast), properties.filter { !$0.isSetLast })
    let assignments = (first + last).map { "self.\($0.name) = \($0.name)" }.indented
    let access = access(of: properties)
    guard !properties.isEmpty else { return ["\(access)init() {}"] }
    let parameters = properties.enumerated().map { index, property in
      let isEscaping = Parser.functionType(in: property.type) != nil
      let value = property.isEndpoint ? nil : property.value
      return "\(property.name): \(isEscaping ? "@escaping " : "")\(property.type)"
        + (value.map { " = \($0)" } ?? "") + (index == properties.count - 1 ? "" : ",")
    }
    return ["\(access)init("] + parameters.indented + [") {"] + assignments + ["}"]
  }

  /// No initializer is more accessible than the type and the properties that it sets.
  private func access(of properties: [Property]) -> String {
    let own = Self.accesses.first { !$0.isEmpty && declaration.hasModifier($0) } ?? ""
    let all = [own] + properties.map(\.access)
    let least = all.min { Self.rank($0) < Self.rank($1) } ?? ""
    // The members of a private type are as accessible as it is without saying so.
    return least.isEmpty || least == own && ["private", "fileprivate"].contains(own) ? "" : least + " "
  }

  private static func rank(_ access: String) -> Int { accesses.firstIndex(of: access) ?? 0 }
}
