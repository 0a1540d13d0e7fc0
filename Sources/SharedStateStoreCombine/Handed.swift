/// A value that is passed from thread to thread, and used by one thread at a time.
struct Handed<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because one store carries out an effect, and passes the value on, and because
  // schedulers and their times may be used from any thread.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
