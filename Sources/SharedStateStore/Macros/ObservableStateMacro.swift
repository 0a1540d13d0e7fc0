/// Makes a state tell its readers what has changed.
///
/// ```swift
/// @ObservableState
/// struct State {
///   var count = 0
///   var child: Child.State?
/// }
/// ```
///
/// Who reads `count` within `withObservationTracking` hears when it changes. Who reads `child` hears when another child
/// is there, and of a change within the child only when that was read, too. Who has read anything of a state hears when an
/// old copy is put back in its place. Properties with a property wrapper, and those that are computed, are left as they
/// are. What it makes can be written by hand: see <doc:MacrosByHand>.
@attached(
  member,
  names: named(_$observationRegistrar),
  named(_$id),
  named(_$inPlaceAccesses),
  named(CodingKeys)
)
@attached(memberAttribute)
@attached(extension, conformances: ObservableState)
public macro ObservableState() = #externalMacro(module: "SharedStateStoreMacros", type: "ObservableStateMacro")

/// Makes a property of an observable state tell its readers of changes. `@ObservableState` writes it.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(_))
public macro ObservationStateTracked() =
  #externalMacro(module: "SharedStateStoreMacros", type: "ObservationStateTrackedMacro")

/// Leaves a property of an observable state as it is: nobody hears of its changes.
@attached(accessor, names: named(willSet))
public macro ObservationStateIgnored() =
  #externalMacro(module: "SharedStateStoreMacros", type: "ObservationStateIgnoredMacro")
