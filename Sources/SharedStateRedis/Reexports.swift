// Whoever shares values by way of Redis makes shares of them.
@_exported public import SharedState
