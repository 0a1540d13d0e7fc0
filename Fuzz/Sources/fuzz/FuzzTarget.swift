import Foundation

/// What the fuzzer calls with one input after the other. It ends the program where something is not as it should be.
struct FuzzTarget: Sendable {
  /// The name of its folder in `Corpus`, too.
  let name: String
  let run: @Sendable (Data) -> Void

  /// Another one needs a line here, a file with what it checks, and a folder with what to begin with.
  static let all = [
    FuzzTarget(name: "parser", run: ParserTarget.run),
    FuzzTarget(name: "decoder", run: DecoderTarget.run),
    FuzzTarget(name: "merge", run: MergeTarget.run),
    FuzzTarget(name: "message", run: MessageTarget.run),
    FuzzTarget(name: "meta", run: MetaTarget.run),
    FuzzTarget(name: "reply", run: ReplyTarget.run),
    FuzzTarget(name: "url", run: URLTarget.run),
    FuzzTarget(name: "propertylist", run: PropertyListTarget.run),
    FuzzTarget(name: "macros", run: MacrosTarget.run),
  ]
}

/// Ends the program when something that must hold does not, so that the fuzzer keeps the input.
func check(_ holds: Bool, _ what: @autoclosure () -> String) {
  if !holds { fatalError(what()) }
}

/// What something gives, unless it throws.
func attempt<Value>(_ what: String, _ body: () throws -> Value) -> Value {
  do { return try body() } catch { fatalError("\(what): \(error)") }
}
