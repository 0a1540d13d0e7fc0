/// A request of the compiler: one macro in one of its roles, in front of one declaration.
struct ExpansionRequest: Sendable {
  /// The name of the type that implements the macro, as in the declaration of the macro.
  var macro = ""
  /// `member`, `memberAttribute`, `extension`, `accessor`, `peer` or `expression`.
  var role = ""
  /// The source of the attribute; of the whole expression for an expression.
  var attribute = ""
  /// The declaration behind the attribute; for member attributes a member of that declaration.
  var declaration = ""
  /// For member attributes, the declaration behind the attribute.
  var parent: String?
  /// The name of the type, with the types that it is nested in.
  var type: String?
  /// A type with only those conformances that the declaration does not have yet.
  var conformances: String?
  /// The declarations around this one, without their blocks, from the innermost outwards.
  var context: [String] = []

  /// The answer for the compiler, a pure function of the request.
  func run() -> Expansion {
    guard let macro = Macro(rawValue: macro) else {
      return Expansion(
        error: "SharedStateMacros has no macro '\(macro)'. Use the version that matches swift-shared-state."
      )
    }
    do throws(ExpansionDiagnostic) {
      return Expansion(source: try macro.expand(self), diagnostics: try macro.warnings(self))
    } catch {
      return Expansion(source: nil, diagnostics: [error])
    }
  }

  /// The declaration, read.
  func parsed() throws(ExpansionDiagnostic) -> Declaration {
    do throws(ParsingError) { return try Parser.declaration(in: declaration) } catch { throw Self.unreadable(error) }
  }

  private static func unreadable(_ error: ParsingError) -> ExpansionDiagnostic {
    ExpansionDiagnostic(
      message: "The macro cannot read this. \(error.message) "
        + "Write by hand what the macro would make, as the article 'Macros by hand' shows.",
      place: .declaration(offset: error.offset)
    )
  }

  /// The conformances that the declaration does not have yet.
  var missingConformances: [String] {
    guard let conformances, let placeholder = try? Parser.declaration(in: conformances) else { return [] }
    return placeholder.inheritedTypes.map(\.text)
  }
}

/// The expansion of a macro for a declaration.
struct Expansion: Equatable, Sendable {
  /// `nil` when there is an error.
  var source: String?
  var diagnostics: [ExpansionDiagnostic] = []
}

extension Expansion {
  init(error: String) {
    self.init(source: nil, diagnostics: [ExpansionDiagnostic(message: error, place: .attribute)])
  }
}

/// An error or a warning that the compiler shows where the macro is used.
struct ExpansionDiagnostic: Error, Equatable, Sendable {
  enum Severity: String, Equatable, Sendable {
    case error, warning
  }

  enum Place: Equatable, Sendable {
    case attribute
    /// A byte of the declaration.
    case declaration(offset: Int)
  }

  let message: String
  let place: Place
  var severity = Severity.error
}

/// All macros.
enum Macro: String, CaseIterable, Sendable {
  case casePathable = "CasePathableMacro"
  case dependencyClient = "DependencyClientMacro"
  case dependencyEndpoint = "DependencyEndpointMacro"
  case dependencyEndpointIgnored = "DependencyEndpointIgnoredMacro"
  case dependencyEntry = "DependencyEntryMacro"
  case dependencyValue = "DependencyValueMacro"
  case expectation = "ExpectationMacro"
  case observableState = "ObservableStateMacro"
  case observationStateTracked = "ObservationStateTrackedMacro"
  case observationStateIgnored = "ObservationStateIgnoredMacro"
  case presents = "PresentsMacro"
  case reducer = "ReducerMacro"
  case reducerCase = "ReducerCaseMacro"
  case sendable = "SendableMacro"

  func warnings(_ request: ExpansionRequest) throws(ExpansionDiagnostic) -> [ExpansionDiagnostic] {
    switch (self, request.role) {
    case (.reducer, "member"): try ReducerExpansion(request).warnings
    default: []
    }
  }

  func expand(_ request: ExpansionRequest) throws(ExpansionDiagnostic) -> String {
    switch (self, request.role) {
    case (.casePathable, "member"):
      return try CasePathableExpansion(request).members()
    case (.dependencyClient, "member"):
      return try DependencyClientExpansion(request).members()
    case (.dependencyClient, "memberAttribute"):
      return try DependencyClientExpansion.attributes(request)
    case (.dependencyEndpoint, "accessor"):
      return try DependencyEndpointExpansion(request).accessors()
    case (.dependencyEndpoint, "peer"):
      return try DependencyEndpointExpansion(request).peers()
    case (.dependencyEntry, "accessor"):
      return try DependencyEntryExpansion(request).accessors()
    case (.dependencyEntry, "peer"):
      return try DependencyEntryExpansion(request).keyLines()
    case (.dependencyValue, "accessor"):
      return try DependencyValueExpansion(request).accessors()
    case (.expectation, "expression"):
      return try ExpectationExpansion(request).call()
    case (.observableState, "member"):
      return try ObservableStateExpansion(request).members()
    case (.observableState, "memberAttribute"):
      return try ObservedPropertyExpansion(request).attributes()
    case (.observationStateTracked, "accessor"):
      return try ObservedPropertyExpansion(request).accessors()
    case (.observationStateTracked, "peer"):
      return try ObservedPropertyExpansion(request).storage()
    case (.presents, "accessor"):
      return try PresentsExpansion(request).accessors()
    case (.presents, "peer"):
      return try PresentsExpansion(request).storage()
    case (.reducer, "member"):
      return try ReducerExpansion(request).members()
    case (.reducer, "memberAttribute"):
      return try ReducerMemberExpansion(request).attributes()
    case (.reducer, "extension"):
      // The expansion of the members reports what is wrong.
      let members = try? ReducerExpansion(request).membersOfExtension()
      return try ConformanceExpansion(request).extensions(members: members ?? [])
    case (.casePathable, "extension"), (.observableState, "extension"), (.sendable, "extension"):
      return try ConformanceExpansion(request).extensions()
    case (.dependencyEndpointIgnored, "peer"), (.observationStateIgnored, "accessor"), (.reducerCase, "peer"):
      // These attributes are only read by other macros.
      return ""
    default:
      throw ExpansionDiagnostic(
        message: "SharedStateMacros has no role '\(request.role)' of '\(rawValue)'. "
          + "Use the version that matches swift-shared-state.",
        place: .attribute
      )
    }
  }
}
