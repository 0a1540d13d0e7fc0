package import Foundation
package import SharedState

extension RedisStore {
  /// Reads a document whatever the type of other shares of its name, and never writes: other services restore what the
  /// server has lost, and adopt edits.
  ///
  /// Each call makes a replica of its own.
  /// - Parameters:
  ///   - name: The name, as in ``RedisSharedKey``.
  ///   - initialValue: The value until the document is loaded.
  ///   - isRequired: Whether the reader keeps its value where the document is absent, and has an error. Otherwise it
  ///     shows the initial value.
  ///   - decode: Makes a value of the document, on any thread. If it throws an error, the reader keeps its value, and
  ///     has that as its `loadError`.
  package func reader<Value: Sendable>(
    of name: String,
    initialValue: Value,
    isRequired: Bool,
    decode: @escaping @Sendable (Data) throws(RedisSharedStateError) -> Value
  ) -> SharedReader<Value> {
    let key = DocumentKey(name: name, store: self, isRequired: isRequired, decode: decode)
    let persistence = RedisPersistence(key: key, initialValue: initialValue)
    let box = ValueBox(persistence.firstValue(), persistence: persistence)
    persistence.start(box) {}
    return SharedReader(box)
  }
}

/// A document that is only read.
private struct DocumentKey<Value: Sendable>: ReplicatedKey {
  let name: String
  let store: RedisStore
  let isRequired: Bool
  let decode: @Sendable (Data) throws(RedisSharedStateError) -> Value

  var access: RedisAccess { .readOnly }
  var valueType: String? { nil }
  var isPlain: Bool { false }
  var policy: ReplicaPolicy { defaultPolicy }

  func coder(
    completedBy defaultValue: Value?,
    whenRead: @escaping @Sendable (_ completed: [[String]], _ unknown: ([[String]]) -> [String]) -> Void,
    whenOfOtherShape: @escaping @Sendable () -> Void
  ) -> DocumentCoder<Value> {
    DocumentCoder(
      encode: { [name] _ in .failure(.readOnly(name: name)) },
      decode: { [decode] document in
        Result { () throws(RedisSharedStateError) in try decode(document) }
      },
      rules: DocumentCoder.Rules(name: name, maximumBytes: policy.maximumBytes)
    )
  }

  func value(ofAbsent initialValue: Value) throws(RedisSharedStateError) -> Value {
    if isRequired { throw .notStored(name: name) }
    return initialValue
  }
}
