import Foundation

/// A function that the fuzzer calls with one input after the other. It ends the program when a check fails.
struct FuzzTarget: Sendable {
  /// Also the name of the target's folder in `Corpus`.
  let name: String
  let run: @Sendable (Data) -> Void

  /// A new target needs a line here, a file with its checks, and a folder with inputs to begin with.
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

/// Ends the program when a condition does not hold, so that the fuzzer keeps the input.
func check(_ holds: Bool, _ what: @autoclosure () -> String) {
  if !holds { fatalError(what()) }
}

/// Returns the result of a closure, or ends the program when it throws.
func attempt<Value>(_ what: String, _ body: () throws -> Value) -> Value {
  do { return try body() } catch { fatalError("\(what): \(error)") }
}
