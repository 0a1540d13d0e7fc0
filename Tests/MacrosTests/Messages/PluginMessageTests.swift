import Testing

@testable import SharedStateMacroExpansion

@Suite("Messages to the plugin", .timeLimit(.minutes(5)))
struct PluginMessageTests {
  private func answer(_ message: String) throws -> JSON {
    try JSON(PluginMessage.answer(to: Array(message.utf8)))
  }

  private func diagnostic(_ answer: JSON) -> JSON? {
    answer["expandMacroResult"]?["diagnostics"]?.array?.first
  }

  @Test("The plugin reports its protocol")
  func capability() throws {
    let answer = try answer(#"{"getCapability":{"capability":{"protocolVersion":9}}}"#)
    #expect(answer["getCapabilityResult"]?["capability"]?["protocolVersion"]?.integer == 7)
  }

  @Test("A macro is expanded")
  func expansion() throws {
    let answer = try answer(
      """
      {"expandAttachedMacro":{"macro":{"moduleName":"M","typeName":"CasePathableMacro","name":"CasePathable"},
      "macroRole":"extension","discriminator":"d","attributeSyntax":{"source":"@CasePathable"},
      "declSyntax":{"kind":"declaration","source":"\\n  enum A { case \\u0061 }"},
      "extendedTypeSyntax":{"source":"A"},"conformanceListSyntax":{"source":"struct Placeholder: CasePathable {}"},
      "parentDeclSyntax":null,"lexicalContext":[]}}
      """
    )
    #expect(answer["expandMacroResult"]?["expandedSource"] == .string("extension A: SharedStateStore.CasePathable {}"))
    #expect(answer["expandMacroResult"]?["diagnostics"] == .array([]))
  }

  @Test("An error is located where the declaration is wrong")
  func place() throws {
    let answer = try answer(
      """
      {"expandAttachedMacro":{"macro":{"typeName":"CasePathableMacro"},"macroRole":"member",
      "attributeSyntax":{"source":"@CasePathable","location":{"fileName":"a.swift","offset":90}},
      "declSyntax":{"source":"enum A { case a, a(Int) }","location":{"fileName":"a.swift","offset":100}}}}
      """
    )
    #expect(answer["expandMacroResult"]?["expandedSource"] == .null)
    let diagnostic = try #require(self.diagnostic(answer))
    #expect(diagnostic["severity"] == .string("error"))
    #expect(diagnostic["position"]?["fileName"] == .string("a.swift"))
    #expect(diagnostic["position"]?["offset"]?.integer == 117)
  }

  @Test("A warning comes with the expansion")
  func warning() throws {
    let answer = try answer(
      """
      {"expandAttachedMacro":{"macro":{"typeName":"ReducerMacro"},"macroRole":"member",
      "attributeSyntax":{"source":"@Reducer","location":{"fileName":"a.swift","offset":90}},
      "declSyntax":{"source":"struct A { enum Action { case a } }","location":{"fileName":"a.swift","offset":100}}}}
      """
    )
    #expect(answer["expandMacroResult"]?["expandedSource"]?.string?.contains("var body") == true)
    let diagnostic = try #require(self.diagnostic(answer))
    #expect(diagnostic["severity"] == .string("warning"))
    #expect(diagnostic["position"]?["offset"]?.integer == 111)
  }

  @Test("An error of the attribute is located at its first character")
  func attribute() throws {
    let answer = try answer(
      """
      {"expandAttachedMacro":{"macro":{"typeName":"ReducerMacro"},"macroRole":"member",
      "attributeSyntax":{"source":"\\n  /// A.\\n  @Reducer(state: .equatable)",
      "location":{"fileName":"a.swift","offset":90}},"declSyntax":{"source":"struct A {}"}}}
      """
    )
    #expect(diagnostic(answer)?["position"]?["offset"]?.integer == 102)
  }

  @Test(
    "A request that no known compiler sends is refused with the versions",
    arguments: [
      #"{"expandEverything":{}}"#, "{}", "[]", "null", #"{"loadPluginLibrary":{"libraryPath":"a","moduleName":"b"}}"#,
    ]
  )
  func unknown(_ message: String) throws {
    let text = try #require(try diagnostic(answer(message))?["message"]?.string)
    #expect(text.contains("version 7"))
    #expect(text.contains("Swift 6.0 to 6.3"))
  }

  @Test(
    "Data that is not a message is refused",
    arguments: ["", "{", "\u{0}", #"{"a":1e999}"#, "{}{}", #""\u12""#, #"{"a" 1}"#]
  )
  func noMessage(_ message: String) throws {
    let text = try #require(try diagnostic(answer(message))?["message"]?.string)
    #expect(text.contains("not JSON"))
  }

  @Test("A message that is nested too deeply is refused")
  func depth() throws {
    let message = String(repeating: "[", count: 1_000_000)
    #expect(try diagnostic(answer(message)) != nil)
  }

  @Test("A freestanding macro is refused at its position")
  func freestanding() throws {
    let answer = try answer(
      ##"{"expandFreestandingMacro":{"syntax":{"source":" #a","location":{"fileName":"f","offset":2}}}}"##
    )
    #expect(diagnostic(answer)?["position"]?["offset"]?.integer == 3)
  }

  @Test(
    "An unknown macro or role is refused",
    arguments: [
      #"{"typeName":"OtherMacro"},"macroRole":"member""#, #"{"typeName":"CasePathableMacro"},"macroRole":"body""#,
      #"{},"macroRole":1"#,
    ]
  )
  func missing(_ macro: String) throws {
    let answer = try answer(#"{"expandAttachedMacro":{"macro":"# + macro + "}}")
    #expect(diagnostic(answer)?["message"]?.string?.hasPrefix("SharedStateMacros has no") == true)
  }

  @Test(
    "JSON is read as it was written",
    arguments: [
      .null, .boolean(true), .number(-1.5e300), .number(7), .string("\u{0}\"\\\n\u{1F600}é"),
      .array([.array([]), .null]),
      .object(["a": .object([:]), "": .string("")]),
    ] as [JSON]
  )
  func json(_ json: JSON) throws {
    #expect(try JSON(json.bytes) == json)
  }

  @Test("Escapes of JSON are characters")
  func escapes() throws {
    let text = #""\ud83d\ude00\u00e9\/\b\f\n\r\t\ud800""#
    #expect(try JSON(Array(text.utf8)) == .string("\u{1F600}é/\u{8}\u{C}\n\r\t\u{FFFD}"))
  }
}
