// A feature needs `@Dependency` and `withDependencies`, too.
@_exported public import SharedStateDependencies
