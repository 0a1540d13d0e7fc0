// Programs that share values through Redis need the shares of SharedState.
@_exported public import SharedState
