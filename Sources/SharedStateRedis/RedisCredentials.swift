/// What a connection authenticates with. Nothing that prints or reflects it shows the password.
package struct RedisCredentials: Hashable, Sendable {
  /// `nil`: the default user.
  package let user: String?
  /// May be empty, for a user without one.
  package let password: String

  /// Makes credentials.
  package init(user: String?, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "\(user ?? "the default user"), with a password" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: ["user": user as Any]) }
}
