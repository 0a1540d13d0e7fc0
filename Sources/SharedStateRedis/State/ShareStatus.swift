/// How a share stands, as its link sees it.
package struct ShareStatus: Hashable, Sendable {
  package var isLoading = false
  package var loadError: RedisSharedStateError?
  package var saveError: RedisSharedStateError?
  /// Tells which of two is newer, because threads may report them in another order.
  package var number: UInt64 = 0

  package init() {}
}
