/// The structure of a declaration, without the code that it contains.
struct Declaration: Sendable {
  var attributes: [Attribute] = []
  var modifiers: [Modifier] = []
  /// `struct`, `enum`, `var`, `func` and so on.
  var keyword = ""
  /// As written, with backticks. Empty when there is none, and for variables, whose bindings have names.
  var name = ""
  /// The first byte of the keyword.
  var offset = 0
  var genericParameters: [GenericParameter] = []
  /// The types behind the colon. For an extension, the extended type comes first.
  var inheritedTypes: [Fragment] = []
  var requirements: [Fragment] = []
  /// The members of a type; `nil` when it has no block.
  var members: [Member]?
  var bindings: [Binding] = []
  var cases: [EnumCase] = []
  /// The parameters of a function, an initialiser or a subscript.
  var parameters: [Parameter] = []
  var result: Fragment?
  var accessors: Accessors?
  var hasBody = false
  var range = 0..<0
}

/// `@Name(arguments)`.
struct Attribute: Sendable {
  /// With module and generic arguments.
  let name: Fragment
  /// The last part of the name.
  let baseName: String
  /// With the parentheses.
  let arguments: Fragment?
  let fragment: Fragment
  /// Whether it stands within `#if`. Then it only counts where the condition holds.
  let isConditional: Bool
}

/// `public`, or `private(set)`.
struct Modifier: Sendable {
  let name: String
  let detail: String?
}

struct GenericParameter: Sendable {
  let name: String
  let fragment: Fragment
  let constraint: Fragment?
}

/// One of the names of `var a = 1, b: Int { … }`.
struct Binding: Sendable {
  let pattern: Fragment
  /// `nil` for a pattern of several names.
  let name: String?
  var type: Fragment?
  var value: Fragment?
  var accessors: Accessors?
  /// The source of the accessors, with the braces.
  var accessorBlock: Fragment?
}

/// The content of the braces of a property or a subscript.
enum Accessors: Sendable {
  /// The code of a getter without its keyword.
  case getter
  case list([String])

  /// Whether the property is stored even though it has accessors.
  var areObservers: Bool {
    switch self {
    case .getter: false
    case .list(let names): !names.isEmpty && names.allSatisfy { $0 == "willSet" || $0 == "didSet" }
    }
  }
}

struct EnumCase: Sendable {
  let name: String
  /// The first byte of the name.
  let offset: Int
  /// `nil` when there are no parentheses.
  let parameters: [Parameter]?
  let rawValue: Fragment?
}

/// A parameter of a function, or a value of a case.
struct Parameter: Sendable {
  let attributes: [Attribute]
  let modifiers: [String]
  let label: String?
  let name: String?
  let type: Fragment
  let isVariadic: Bool
  let defaultValue: Fragment?
}

/// A part of the block of a type.
indirect enum Member: Sendable {
  case declaration(Declaration)
  case conditional([Clause])
  /// `#name(…)`.
  case expansion(Fragment)
}

/// One part of `#if … #elseif … #else … #endif`.
struct Clause: Sendable {
  /// With the sharp sign.
  let keyword: String
  let condition: Fragment?
  let members: [Member]
}

extension Declaration {
  /// The attributes of this name, with or without a module in front of it.
  func attributes(named name: String) -> [Attribute] {
    attributes.filter { $0.baseName == name }
  }

  func hasAttribute(_ name: String) -> Bool {
    attributes.contains { $0.baseName == name }
  }

  func hasModifier(_ name: String) -> Bool {
    modifiers.contains { $0.name == name && $0.detail == nil }
  }

  /// All declarations in the block, including those within `#if`.
  var allDeclarations: [Declaration] {
    (members ?? []).flatMap(\.declarations)
  }
}

extension Member {
  var declarations: [Declaration] {
    switch self {
    case .declaration(let declaration): [declaration]
    case .conditional(let clauses): clauses.flatMap { $0.members.flatMap(\.declarations) }
    case .expansion: []
    }
  }
}
