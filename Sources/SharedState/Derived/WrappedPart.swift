/// The value of an optional.
struct WrappedPart<Value>: FailablePart {
  var text: String { "!" }

  func value(in whole: Value?) -> Value? { whole }

  func write(_ value: Value, to whole: inout Value?) {
    whole = value
  }
}
