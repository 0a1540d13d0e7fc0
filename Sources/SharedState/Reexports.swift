// `@Dependency`, `prepareDependencies` and `withDependencies` belong to what a program that shares state needs.
@_exported public import SharedStateDependencies
