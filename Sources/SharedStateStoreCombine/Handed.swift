/// Something that is handed from thread to thread, and used by one at a time.
struct Handed<Value>: @unchecked Sendable {
  // `@unchecked Sendable` is right because an effect is carried out by one store, which hands it on, and because
  // schedulers and their times are there to be used from any thread.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
