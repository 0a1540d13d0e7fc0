/// `@ObservationStateTracked`: a property that notifies its readers when it changes.
struct ObservedPropertyExpansion {
  private let declaration: Declaration

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
  }

  /// Attributes of the language itself, as opposed to property wrappers and macros.
  private static let plainAttributes: Set<String> = [
    "available", "MainActor", "usableFromInline", "inlinable", "objc", "nonobjc", "_spi", "inline",
    "ObservationStateTracked",
  ]

  /// Whether `@ObservableState` tracks this member: a stored property that no wrapper or other macro handles.
  static func isTracked(_ declaration: Declaration) -> Bool {
    guard declaration.keyword == "var", !declaration.hasModifier("static"), !declaration.hasModifier("class"),
      !declaration.hasModifier("lazy"), declaration.attributes.allSatisfy({ plainAttributes.contains($0.baseName) })
    else { return false }
    let isComputed = declaration.bindings.contains { $0.accessors.map { !$0.areObservers } ?? false }
    let isPrivate = declaration.bindings.contains { $0.name?.hasPrefix("_$") ?? false }
    return !isComputed && !isPrivate
  }

  /// The attribute for a member of an observed state.
  func attributes() throws(ExpansionDiagnostic) -> String {
    guard Self.isTracked(declaration), !declaration.hasAttribute("ObservationStateTracked") else { return "" }
    guard declaration.bindings.count == 1, declaration.bindings[0].name != nil else {
      throw ExpansionDiagnostic(
        message: "Properties of one 'var' cannot be observed. Write a 'var' for each, or '@ObservationStateIgnored'.",
        place: .declaration(offset: declaration.offset)
      )
    }
    return "@SharedStateStore.ObservationStateTracked"
  }

  func accessors() throws(ExpansionDiagnostic) -> String {
    let (name, binding) = try property()
    let storage = name.withoutBackticks.prefixed("_")
    let literal = name.withoutBackticks.literal
    // In-place changes would call the property's own observers each time, so such a property is read, and set as a
    // whole.
    let modify =
      binding.accessors == nil
      ? """

        _modify {
          let before = _$observationRegistrar.willModify(\(storage))
          defer { _$observationRegistrar.didModify(\(literal), \(storage), before) }
          yield &\(storage)
        }
      """ : ""
    return """
      {
        @storageRestrictions(initializes: \(storage))
        init(initialValue) {
          \(storage) = initialValue
        }
        get {
          _$observationRegistrar.access(\(literal))
          return \(storage)
        }
        set {
          _$observationRegistrar.willChange()
          _$observationRegistrar.set(\(literal), &\(storage), to: newValue)
        }\(modify)
      }
      """
  }

  /// The property that keeps the value, with its own observers, if it has any.
  func storage() throws(ExpansionDiagnostic) -> String {
    let (name, binding) = try property()
    let modifiers = declaration.modifiers.filter { !Self.accessModifiers.contains($0.name) }
      .map { $0.name + ($0.detail.map { "(\($0))" } ?? "") + " " }.joined()
    let type = binding.type.map { ": \($0.text)" } ?? ""
    // Code keeps its line breaks, because a comment may end with one.
    let value = binding.value.map { " = \($0.rawText)" } ?? ""
    let observers = binding.accessorBlock.map { " \($0.rawText)" } ?? ""
    return """
      @SharedStateStore.ObservationStateIgnored
      private \(modifiers)var \(name.withoutBackticks.prefixed("_"))\(type)\(value)\(observers)
      """
  }

  private static let accessModifiers: Set<String> = ["public", "package", "internal", "fileprivate", "private", "open"]

  private func property() throws(ExpansionDiagnostic) -> (name: String, binding: Binding) {
    guard declaration.keyword == "var", declaration.bindings.count == 1, let name = declaration.bindings[0].name else {
      throw ExpansionDiagnostic(
        message: "'@ObservationStateTracked' is for a stored property, a 'var' of its own.",
        place: .declaration(offset: declaration.offset)
      )
    }
    return (name, declaration.bindings[0])
  }
}
