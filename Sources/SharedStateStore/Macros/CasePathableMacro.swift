/// Makes key paths to the cases of an enum, as in `\Action.Cases.child`.
///
/// ```swift
/// @CasePathable
/// enum Action {
///   case buttonTapped
///   case nameChanged(String)
/// }
/// ```
///
/// With `@dynamicMemberLookup` beside it the value of a case is an optional property: `action.nameChanged`. Two cases of
/// one name are refused. What it makes can be written by hand: see <doc:MacrosByHand>.
@attached(member, names: named(AllCasePaths), named(allCasePaths))
@attached(extension, conformances: CasePathable)
public macro CasePathable() = #externalMacro(module: "SharedStateStoreMacros", type: "CasePathableMacro")
