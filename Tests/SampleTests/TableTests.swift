import Foundation
import Testing

/// The table in the README beside these tests says where each sample is. It has to be true and complete.
@Suite("The table of samples", .timeLimit(.minutes(5)))
struct TableTests {
  private let folder = URL(filePath: #filePath).deletingLastPathComponent()

  @Test("Every test in the table exists")
  func existingTests() throws {
    let tests = try declaredTests()
    let listed = try listedTests()
    #expect(listed.count > 50)
    #expect(listed.subtracting(tests) == [])
  }

  @Test("Every test is in the table")
  func testsInTable() throws {
    #expect(try declaredTests().subtracting(listedTests()) == [])
  }

  @Test("Every document has as many rows as blocks, and each row names a test")
  func rowsPerBlock() throws {
    let documents = try readMe().components(separatedBy: "\n## ").filter {
      $0.prefix { $0 != "\n" }.hasSuffix(" blocks")
    }
    #expect(documents.count == 5)
    for document in documents {
      let lines = document.split(separator: "\n")
      let heading = try #require(lines.first)
      let blocks = try #require(heading.split(separator: " ").dropLast().last.flatMap { Int($0) })
      let rows = lines.filter { $0.hasPrefix("| ") }.dropFirst(2)
      #expect(rows.count == blocks, "\(heading)")
      #expect(rows.allSatisfy { $0.contains(Self.name) }, "\(heading)")
    }
  }

  /// `Suite/test`, or `Proofs/File`.
  private static var name: Regex<(Substring, Substring)> { /`(\w+\/\w+)`/ }

  private func readMe() throws -> String {
    try String(contentsOf: folder.appending(component: "README.md"), encoding: .utf8)
  }

  private func listedTests() throws -> Set<String> {
    Set(try readMe().matches(of: Self.name).map { String($0.output.1) })
  }

  /// The tests in the folders of the documents, and the proofs.
  private func declaredTests() throws -> Set<String> {
    var tests: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let file = folder.appending(path: path)
      guard file.pathExtension == "swift", path.contains("/"), !path.hasPrefix("Articles/") else { continue }
      let name = file.deletingPathExtension().lastPathComponent
      if path.contains("/Proofs/") {
        tests.insert("Proofs/\(name)")
      } else if name.hasSuffix("Tests"), name != "CompileErrorTests" {
        let text = try String(contentsOf: file, encoding: .utf8)
        for match in text.matches(of: /@Test\b(?s:.*?)\bfunc (\w+)\(/) { tests.insert("\(name)/\(match.output.1)") }
      }
    }
    return tests
  }
}
