import SwiftSyntax

/// A declaration as SwiftSyntax sees it, line by line.
enum SyntaxSummary {
  static func lines(of declaration: DeclSyntax) -> [String] {
    if let node = declaration.as(StructDeclSyntax.self) {
      return type(node, "struct", node.name, node.genericParameterClause)
    }
    if let node = declaration.as(EnumDeclSyntax.self) {
      return type(node, "enum", node.name, node.genericParameterClause)
    }
    if let node = declaration.as(ClassDeclSyntax.self) {
      return type(node, "class", node.name, node.genericParameterClause)
    }
    if let node = declaration.as(ActorDeclSyntax.self) {
      return type(node, "actor", node.name, node.genericParameterClause)
    }
    if let node = declaration.as(ProtocolDeclSyntax.self) {
      // The primary associated types stand where the generic parameters of other types do.
      let names = node.primaryAssociatedTypeClause?.primaryAssociatedTypes.map { "generic \(plain($0.name))" } ?? []
      return type(node, "protocol", node.name, nil, names)
    }
    if let node = declaration.as(ExtensionDeclSyntax.self) {
      var lines = ["extension \(plain(node.extendedType))"] + header(node)
      lines += inherits(node.inheritanceClause) + requirements(node.genericWhereClause)
      return lines + members(node.memberBlock)
    }
    if let node = declaration.as(VariableDeclSyntax.self) { return variable(node) }
    if let node = declaration.as(EnumCaseDeclSyntax.self) { return cases(node) }
    return function(declaration)
  }

  // MARK: - Types

  private static func type(
    _ node: some DeclGroupSyntax,
    _ keyword: String,
    _ name: TokenSyntax,
    _ generics: GenericParameterClauseSyntax?,
    _ names: [String] = []
  ) -> [String] {
    var lines = ["\(keyword) \(name.text)"] + header(node.attributes, node.modifiers)
    lines += parameters(generics) + names + inherits(node.inheritanceClause)
    let whereClause =
      node.asProtocol((any WithGenericParametersSyntax).self)?.genericWhereClause
      ?? node.as(ProtocolDeclSyntax.self)?.genericWhereClause
    return lines + requirements(whereClause) + members(node.memberBlock)
  }

  private static func header(_ node: some WithAttributesSyntax & WithModifiersSyntax) -> [String] {
    header(node.attributes, node.modifiers)
  }

  private static func header(_ attributes: AttributeListSyntax, _ modifiers: DeclModifierListSyntax) -> [String] {
    self.attributes(attributes).map { "attribute \($0)" }
      + modifiers.map { "modifier \($0.name.text)\($0.detail.map { "(\($0.detail.text))" } ?? "")" }
  }

  private static func attributes(_ attributes: AttributeListSyntax) -> [String] {
    attributes.flatMap { element in
      switch element {
      case .attribute(let attribute):
        [plain(attribute)]
      case .ifConfigDecl(let conditional):
        conditional.clauses.flatMap { clause in
          if case .attributes(let attributes)? = clause.elements { self.attributes(attributes) } else { [String]() }
        }
      @unknown default:
        ["unknown to this check"]
      }
    }
  }

  private static func parameters(_ clause: GenericParameterClauseSyntax?) -> [String] {
    clause?.parameters.map { "generic \(plain($0.with(\.trailingComma, nil)))" } ?? []
  }

  private static func inherits(_ clause: InheritanceClauseSyntax?) -> [String] {
    clause?.inheritedTypes.map { "inherits \(plain($0.type))" } ?? []
  }

  private static func requirements(_ clause: GenericWhereClauseSyntax?) -> [String] {
    clause?.requirements.map { "where \(plain($0.requirement))" } ?? []
  }

  private static func members(_ block: MemberBlockSyntax) -> [String] {
    ["{"] + members(block.members) + ["}"]
  }

  private static func members(_ members: MemberBlockItemListSyntax) -> [String] {
    members.flatMap { item -> [String] in
      if let node = item.decl.as(MacroExpansionDeclSyntax.self) { return ["expansion \(plain(node))"] }
      if let node = item.decl.as(IfConfigDeclSyntax.self) { return conditional(node) }
      return lines(of: item.decl)
    }
  }

  private static func conditional(_ node: IfConfigDeclSyntax) -> [String] {
    node.clauses.flatMap { clause -> [String] in
      var lines = ["\(clause.poundKeyword.text) \(plain(clause.condition))"]
      if case .decls(let declarations)? = clause.elements { lines += members(declarations) }
      return lines
    } + ["#endif"]
  }

  // MARK: - Members

  private static func variable(_ node: VariableDeclSyntax) -> [String] {
    ["\(node.bindingSpecifier.text) -"] + header(node)
      + node.bindings.map { binding in
        let type = plain(binding.typeAnnotation?.type)
        return "binding \(plain(binding.pattern)) type \(type) value \(plain(binding.initializer?.value)) "
          + accessors(binding.accessorBlock)
      }
  }

  private static func accessors(_ block: AccessorBlockSyntax?) -> String {
    switch block?.accessors {
    case nil: "stored"
    case .getter: "getter"
    case .accessors(let list) where list.isEmpty: "getter"
    case .accessors(let list): "accessors \(list.map(\.accessorSpecifier.text).joined(separator: " "))"
    @unknown default: "unknown to this check"
    }
  }

  private static func cases(_ node: EnumCaseDeclSyntax) -> [String] {
    ["case -"] + header(node)
      + node.elements.flatMap { one -> [String] in
        let values = one.parameterClause.map { clause in
          ["values"]
            + clause.parameters.map {
              parameter("", $0.modifiers, $0.firstName, $0.secondName, $0.type, nil, $0.defaultValue)
            }
        }
        return ["case \(one.name.text) raw \(plain(one.rawValue?.value))"] + (values ?? [])
      }
  }

  private static func parameters(_ clause: FunctionParameterClauseSyntax) -> [String] {
    clause.parameters.map {
      let attributes = self.attributes($0.attributes).map { $0 + " " }.joined()
      return parameter(attributes, $0.modifiers, $0.firstName, $0.secondName, $0.type, $0.ellipsis, $0.defaultValue)
    }
  }

  private static func parameter(
    _ attributes: String,
    _ modifiers: DeclModifierListSyntax,
    _ label: TokenSyntax?,
    _ name: TokenSyntax?,
    _ type: TypeSyntax,
    _ ellipsis: TokenSyntax?,
    _ value: InitializerClauseSyntax?
  ) -> String {
    let modifiers = modifiers.map { $0.name.text + " " }.joined()
    let names = "\(label?.text ?? "-") \(name?.text ?? "-")"
    let type = plain(type) + (ellipsis == nil ? "" : "...")
    return "parameter \(attributes)\(modifiers)\(names) type \(type) default \(plain(value?.value))"
  }

  private static func function(_ declaration: DeclSyntax) -> [String] {
    if let node = declaration.as(FunctionDeclSyntax.self) {
      return function(
        node,
        "func",
        node.name.text,
        node.genericParameterClause,
        node.signature,
        node.genericWhereClause
      )
        + (node.body == nil ? [] : ["body"])
    }
    if let node = declaration.as(InitializerDeclSyntax.self) {
      return function(node, "init", "-", node.genericParameterClause, node.signature, node.genericWhereClause)
        + (node.body == nil ? [] : ["body"])
    }
    if let node = declaration.as(MacroDeclSyntax.self) {
      return function(
        node,
        "macro",
        node.name.text,
        node.genericParameterClause,
        node.signature,
        node.genericWhereClause
      )
    }
    if let node = declaration.as(SubscriptDeclSyntax.self) {
      return ["subscript -"] + header(node) + parameters(node.genericParameterClause) + parameters(node.parameterClause)
        + ["result \(plain(node.returnClause.type))"] + requirements(node.genericWhereClause)
        + [accessors(node.accessorBlock)]
    }
    if let node = declaration.as(DeinitializerDeclSyntax.self) {
      return ["deinit -"] + header(node) + (node.body == nil ? [] : ["body"])
    }
    if let node = declaration.as(TypeAliasDeclSyntax.self) {
      return ["typealias \(node.name.text)"] + header(node) + parameters(node.genericParameterClause)
        + ["result \(plain(node.initializer.value))"] + requirements(node.genericWhereClause)
    }
    if let node = declaration.as(AssociatedTypeDeclSyntax.self) {
      return ["associatedtype \(node.name.text)"] + header(node) + inherits(node.inheritanceClause)
        + (node.initializer.map { ["result \(plain($0.value))"] } ?? []) + requirements(node.genericWhereClause)
    }
    return ["\(declaration.kind) -"]
  }

  private static func function(
    _ node: some WithAttributesSyntax & WithModifiersSyntax,
    _ keyword: String,
    _ name: String,
    _ generics: GenericParameterClauseSyntax?,
    _ signature: FunctionSignatureSyntax,
    _ whereClause: GenericWhereClauseSyntax?
  ) -> [String] {
    ["\(keyword) \(name)"] + header(node) + parameters(generics) + parameters(signature.parameterClause)
      + (signature.returnClause.map { ["result \(plain($0.type))"] } ?? []) + requirements(whereClause)
  }

  /// The tokens, without white space.
  private static func plain(_ node: (any SyntaxProtocol)?) -> String {
    node.map { ParserSummary.withoutSpace($0.tokens(viewMode: .sourceAccurate).map(\.text).joined()) } ?? "-"
  }
}
