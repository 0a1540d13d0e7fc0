import SharedState

extension SharedKeyContract {
  /// Promises about a state for which nothing is stored.
  static var nothingStoredChecks: [Self] {
    [
      SharedKeyContract("keys of the same state have equal identifiers, and keys of different states have not") {
        scene in
        let (key, same, other) = (scene.key(), scene.key(), scene.key("b"))
        try scene.expect(key.id == same.id, otherwise: "two keys of the same state have different identifiers")
        try scene.expect(
          key.id.hashValue == same.id.hashValue,
          otherwise: "the equal identifiers of two keys have different hash values"
        )
        try scene.expect(key.id != other.id, otherwise: "two keys of different states have equal identifiers")
      },

      SharedKeyContract("the value is the default when nothing is stored") { scene in
        let (reader, initial) = (scene.reader(), scene.initial)
        try await scene.wait("the share does not stop loading") { !reader.isLoading }
        try scene.expect(reader.loadError == nil, otherwise: "the share has a load error")
        try scene.expect(reader.wrappedValue == initial, otherwise: "the value is not the default")
      },

      SharedKeyContract("a load says once that nothing is stored") { scene in
        for context in [LoadContext.userInitiated, .initialValue(scene.first)] {
          let loaded = try await scene.load(context: context)
          try scene.expect(loaded == nil, otherwise: "a value was loaded")
        }
      },

      SharedKeyContract("a share that requires a value throws an error if none is stored") { scene in
        do {
          _ = try await SharedReader(require: scene.key())
        } catch is NothingStoredError {
          return
        }
        throw scene.violation("nothing was thrown")
      },
    ]
  }
}
