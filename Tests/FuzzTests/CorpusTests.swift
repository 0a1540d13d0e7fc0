import Foundation
import Testing

/// Runs the fuzzer's checks on the inputs that were kept, without the fuzzer. A check that fails ends the process, and
/// the crash names it.
@Suite("The fuzzer's inputs", .timeLimit(.minutes(5)))
struct CorpusTests {
  @Test("Every input in the fuzzer's corpus passes its checks", arguments: FuzzTarget.all.map(\.name))
  func corpus(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../Fuzz/Corpus/\(name)").standardized
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    #expect(!files.isEmpty)
    for file in files { target.run(try Data(contentsOf: file)) }
  }
}
