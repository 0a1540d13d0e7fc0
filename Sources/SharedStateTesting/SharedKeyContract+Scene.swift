import SharedState
import SharedStateDependencies

extension SharedKeyContract {
  /// The storage and the values of one check, and its ways to use them.
  struct Scene: Sendable {
    typealias Value = Key.Value

    let check: String
    let storage: Storage

    /// The value when nothing is stored, and three others.
    var initial: Value { storage.values[0] }
    var first: Value { storage.values[1] }
    var second: Value { storage.values[2] }
    var third: Value { storage.values[3] }

    init(check: String, storage: Storage) throws {
      self.check = check
      self.storage = storage
      let values = storage.values
      let areDistinct = values.indices.allSatisfy { !values[..<$0].contains(values[$0]) }
      try expect(values.count >= 4 && areDistinct, otherwise: "the test does not give four values that differ")
    }

    var outsider: Outsider {
      get throws {
        guard let outsider = storage.outsider else {
          throw violation("it needs an outsider, and the test has none; use 'checksWithoutOutsider'")
        }
        return outsider
      }
    }

    func key(_ name: String = "a") -> Key { storage.key(name) }

    /// A reader of the state, with the first of the values as its default.
    func reader(_ name: String = "a") -> SharedReader<Value> {
      SharedReader(wrappedValue: initial, key(name))
    }

    // MARK: Calling the key

    /// Loads from the key, which has to answer exactly once.
    func load(_ name: String = "a", context: LoadContext<Value> = .userInitiated) async throws -> Value? {
      let call = KeyCall<Value?>()
      key(name).load(context: context, continuation: call.loadContinuation())
      return try await outcome(of: call, "load")
    }

    func outcome<Outcome>(of call: KeyCall<Outcome>, _ what: String) async throws -> Outcome {
      let result = try await wait("a \(what) is not answered") { try await call.outcome() }
      // As long as the key holds the continuation, it can resume it again. A key that never releases it passes.
      try? await wait("") { try await call.release() }
      if let misuse = call.misuses.elements.first {
        throw violation("a \(what) is not answered exactly once: \(misuse)")
      }
      return try result.get()
    }

    /// Watches the state by calling the key.
    func subscribe(_ name: String = "a") -> (changes: Journal<Value?>, subscription: SharedSubscription) {
      let changes = Journal<Value?>()
      let subscription = key(name).subscribe(
        context: .initialValue(initial),
        subscriber: SharedSubscriber(callback: { result in
          if case .success(let value) = result { changes.append(value) }
        })
      )
      return (changes, subscription)
    }

    // MARK: Waiting and expecting

    func expect(_ condition: Bool, otherwise reason: @autoclosure () -> String) throws {
      guard condition else { throw violation(reason()) }
    }

    func expectError(_ reason: String, from operation: () async throws -> Void) async throws {
      do {
        try await operation()
      } catch {
        return
      }
      throw violation(reason)
    }

    /// Waits until the condition holds. It may read shares only.
    func wait(_ reason: String, until condition: @escaping @Sendable () -> Bool) async throws {
      try await wait(reason) { try await waitUntil(condition) }
    }

    /// Waits until the subscriber has received a value.
    func wait(_ changes: Journal<Value?>, toHearOf value: Value) async throws {
      try await wait("a change is not yielded to the subscriber") {
        try await changes.wait { $0.contains(value) }
      }
    }

    /// Asks repeatedly until the answer is yes.
    func poll(_ reason: String, _ condition: @escaping @Sendable () async throws -> Bool) async throws {
      try await wait(reason) {
        while try await !condition() { try await Task.sleep(for: .milliseconds(5)) }
      }
    }

    @discardableResult
    func wait<Result: Sendable>(
      _ reason: String,
      for operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
      try await Deadline.run(within: storage.patience, operation: operation) { violation(reason) }
    }

    func violation(_ reason: String) -> SharedKeyContractViolation {
      SharedKeyContractViolation(check: check, reason: reason)
    }
  }
}
