// A program that shares state needs `@Dependency`, `prepareDependencies` and `withDependencies`, too.
@_exported public import SharedStateDependencies
