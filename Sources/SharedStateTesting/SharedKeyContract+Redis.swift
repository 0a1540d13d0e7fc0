package import SharedStateRedis

extension RedisConnectionContract.Server {
  /// Another service on the same server, which writes by a connection of its own.
  package var outsider: SharedKeyContract<RedisSharedKey<Int>>.Outsider {
    @Sendable func commit(_ name: String, _ content: Commit.Content) throws {
      let scene = RedisConnectionContract.Scene(self)
      defer { scene.close() }
      try scene.connect().commit(scene.names(name), content)
    }
    return SharedKeyContract<RedisSharedKey<Int>>.Outsider(
      read: { Int(try foreign(["GET", namespace + $0])) },
      write: { try commit($0, .text("\($1)")) },
      remove: { try commit($0, .deleted) },
      damage: { try commit($0, .text("\"no number\"")) }
    )
  }
}
