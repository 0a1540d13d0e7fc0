package import SharedStateDependencies

/// The output of a bot.
package struct Chat: TestDependencyKey, Sendable {
  package var say: @Sendable (String) -> Void

  package init(say: @escaping @Sendable (String) -> Void) {
    self.say = say
  }

  package static let testValue = Chat { _ in }
}

extension DependencyValues {
  package var chat: Chat {
    get { self[Chat.self] }
    set { self[Chat.self] = newValue }
  }
}
