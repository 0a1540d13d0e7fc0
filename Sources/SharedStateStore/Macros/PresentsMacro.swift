/// Keeps the state of a feature that is there for a while.
///
/// ```swift
/// @ObservableState
/// struct State {
///   @Presents var child: Child.State?
/// }
/// ```
///
/// `state.child` is the optional state, and `state.$child` the ``PresentationState`` around it, which `ifLet` takes. In an
/// observable state it is observed like every other property. What it makes can be written by hand: see
/// <doc:MacrosByHand>.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(`$`), prefixed(_))
public macro Presents() = #externalMacro(module: "SharedStateStoreMacros", type: "PresentsMacro")
