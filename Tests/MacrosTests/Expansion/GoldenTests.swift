import Foundation
import Testing

@testable import SharedStateMacroExpansion

@Suite("Golden files of the macros", .timeLimit(.minutes(5)))
struct GoldenTests {
  /// `UPDATE_GOLDEN=1` writes the present expansions, for review.
  private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil

  @Test("A macro expands to the text of its golden file", arguments: GoldenFile.all)
  func expansion(_ file: GoldenFile) throws {
    if Self.isUpdating { try file.update() }
    #expect(!file.parts.isEmpty)
    for part in file.parts {
      #expect(file.expansion(part.role) == part.text, "\(part.role)")
    }
  }

  @Test("Each macro has a golden file")
  func macros() throws {
    let used = try GoldenFile.all.map { try String(contentsOf: $0.url, encoding: .utf8) }
    for macro in Macro.allCases {
      #expect(used.contains { $0.hasPrefix("macro: \(macro.rawValue)\n") }, "\(macro)")
    }
  }

  @Test("A declaration that is cut off anywhere gets an answer, too", arguments: GoldenFile.all)
  func unfinished(_ file: GoldenFile) {
    let bytes = Array(file.declaration.utf8)
    for count in 0..<bytes.count {
      let text = String(decoding: bytes[..<count], as: UTF8.self)
      for (macro, role) in [
        ("CasePathableMacro", "member"), ("ReducerMacro", "member"), ("PresentsMacro", "peer"),
        ("DependencyClientMacro", "member"), ("DependencyEndpointMacro", "peer"), ("DependencyEntryMacro", "peer"),
      ] {
        var request = ExpansionRequest()
        (request.macro, request.role, request.declaration) = (macro, role, text)
        let expansion = request.run()
        #expect((expansion.source == nil) == expansion.diagnostics.contains { $0.severity == .error })
      }
    }
  }
}
