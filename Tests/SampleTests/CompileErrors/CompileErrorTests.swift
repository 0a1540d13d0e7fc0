import Foundation
import Testing

/// Code that the compiler refuses.
///
/// A file in `Proofs` has to compile. With `WRONG` defined, it has to have exactly the errors in its comments.
@Suite("Compile errors", .timeLimit(.minutes(5)))
struct CompileErrorTests {
  private static let proofs = URL(filePath: #filePath).deletingLastPathComponent().appending(component: "Proofs")

  @Test(
    "A proof compiles without errors, and has exactly its expected errors when WRONG is defined",
    arguments: [
      "AKeyNeedsADefault",
      "AReaderHasNoLock",
      "AReaderIsNotMutated",
      "ASendableClassHoldsAConstant",
      "AShareIsNotCodable",
      "AShareIsNotHashable",
      "AShareOfANonSendableValueStaysWhereItIs",
      "ATypedKeyHasOneType",
      "AnAssignmentIsTwoSteps",
      "AnUpdateCapturesConstants",
      "OnlyAReaderHasAReadOnlyKey",
      "SharesBringNoDependencies",
    ]
  )
  func doesNotCompile(proof: String) async throws {
    let file = Self.proofs.appending(component: "\(proof).swift")
    #expect(try await Compiler.errors(in: file) == [])

    let errors = try await Compiler.errors(in: file, defining: "WRONG")
    let expected = try expectedErrors(in: file)
    #expect(!expected.isEmpty)
    #expect(errors.map(\.line) == expected.map(\.line))
    for (error, expected) in zip(errors, expected) { #expect(error.text.contains(expected.text)) }
  }

  @Test("The folder of proofs contains exactly twelve files")
  func everyProofIsChecked() throws {
    #expect(try FileManager.default.contentsOfDirectory(atPath: Self.proofs.path).count == 12)
  }

  /// The comments `// error: …`. A comment on a line of its own is about the next line.
  private func expectedErrors(in file: URL) throws -> [CompileError] {
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    var errors: [CompileError] = []
    for (index, line) in lines.enumerated() {
      guard let comment = line.firstRange(of: "// error: ") else { continue }
      let isAlone = line[..<comment.lowerBound].allSatisfy(\.isWhitespace)
      errors.append(CompileError(line: index + (isAlone ? 2 : 1), text: String(line[comment.upperBound...])))
    }
    return errors
  }
}
