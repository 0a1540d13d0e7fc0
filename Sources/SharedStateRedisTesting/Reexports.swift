// A test of values shared through Redis makes stores and shares, and needs the traits and assertions.
@_exported public import SharedStateRedis
@_exported public import SharedStateTesting
