/// Makes the initializers of a client, a struct of closures, and lets each closure report that a test has not overridden
/// it.
///
/// ```swift
/// @DependencyClient
/// struct UserClient: Sendable {
///   var fetch: @Sendable (_ id: Int) async throws -> User
///   var count: @Sendable () -> Int = { 0 }
/// }
///
/// extension DependencyValues {
///   @DependencyEntry var users = UserClient()
/// }
/// ```
///
/// The struct gets an initializer with a parameter for each stored property, and one without the closures, here `init()`.
/// Both are as accessible as the struct and these properties. ``DependencyEndpoint(method:)`` is applied to each closure
/// whose type is written as that of a closure, in a `var` of its own; ``DependencyEndpointIgnored()`` excepts one.
///
/// A test overrides the closures that it expects to be called:
///
/// ```swift
/// withDependencies {
///   $0.users.fetch = { id in User(id: id) }
/// } operation: { … }
/// ```
@attached(member, names: named(init))
@attached(memberAttribute)
public macro DependencyClient() = #externalMacro(module: "SharedStateMacros", type: "DependencyClientMacro")

/// Lets a closure of a client report that a test has not overridden it, and adds a method with the labels of its
/// parameters.
///
/// A call of a closure that was not overridden is an issue of the test, at the line of the property. If the closure may
/// throw any error, it throws ``Unimplemented``. Otherwise, and if it returns a value, it needs an initial value, such as
/// `= { 0 }`, which is called behind the issue.
///
/// `var fetch: (_ id: Int) async throws -> User` gets a method `fetch(id:)`. With an argument it has another name, so
/// that methods for several closures can have the same:
///
/// ```swift
/// @DependencyEndpoint(method: "fetch") var fetchByName: (_ name: String) async throws -> User
/// ```
///
/// - Parameter method: The name of the method, as a literal; empty: that of the property.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEndpoint(method: String = "") =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEndpointMacro")

/// Excepts a closure from `@DependencyClient`: it is a parameter of each initializer, and reports nothing.
@attached(peer)
public macro DependencyEndpointIgnored() =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEndpointIgnoredMacro")

/// Makes a property of `DependencyValues` a dependency, with a key.
///
/// ```swift
/// extension DependencyValues {
///   @DependencyEntry var greeting = "Hello"
///   @DependencyEntry(liveValue: UserClient.live) public var users: UserClient = UserClient()
/// }
/// ```
///
/// The initial value is the one for tests; without it, a test that has not overridden the dependency fails. It is
/// evaluated once for each test. Without `liveValue` and `previewValue`, a program outside of tests needs an extension of
/// the key, which has a public name for that if the property is public or `package`: the name of the type, or else of the
/// property, followed by `Key`.
///
/// ```swift
/// extension DependencyValues.UserClientKey: DependencyKey {
///   public static var liveValue: UserClient { .live }
/// }
/// ```
@attached(accessor, names: named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEntry() = #externalMacro(module: "SharedStateMacros", type: "DependencyEntryMacro")

/// Makes a property of `DependencyValues` a dependency, with a key of a name of your choice.
///
/// - Parameter key: The name of the key, as a literal. The key is as accessible as the property.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEntry(_ key: String) =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEntryMacro")

/// Makes a property of `DependencyValues` a dependency, with its values for the running program and for previews.
///
/// - Parameters:
///   - key: The name of the key, as a literal.
///   - liveValue: The value in the running program.
///   - previewValue: The value in previews; without it, `liveValue`.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEntry<Value>(_ key: String = "", liveValue: Value) =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEntryMacro")

/// Makes a property of `DependencyValues` a dependency, with its values for the running program and for previews.
///
/// - Parameters:
///   - key: The name of the key, as a literal.
///   - liveValue: The value in the running program.
///   - previewValue: The value in previews.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEntry<Value>(_ key: String = "", liveValue: Value, previewValue: Value) =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEntryMacro")

/// Makes a property of `DependencyValues` a dependency, with its value for previews.
///
/// - Parameters:
///   - key: The name of the key, as a literal.
///   - previewValue: The value in previews.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: arbitrary)
public macro DependencyEntry<Value>(_ key: String = "", previewValue: Value) =
  #externalMacro(module: "SharedStateMacros", type: "DependencyEntryMacro")

/// Evaluates the initial value of a property at each access. `@DependencyEntry` writes it.
@attached(accessor, names: named(get))
public macro _$DependencyValue() = #externalMacro(module: "SharedStateMacros", type: "DependencyValueMacro")
