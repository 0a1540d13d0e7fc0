/// The status of a reference: what `isLoading`, `loadError` and `saveError` show.
package struct ReferenceStatus: Sendable {
  /// How many loads are under way.
  var loadsUnderWay = 0
  /// Whether the key says that it is loading.
  private var isKeyLoading = false
  package var loadError: (any Error)?
  package var saveError: (any Error)?

  package init() {}

  /// Whether a load is under way, or the key says that it is loading; only the latter can be set.
  package var isLoading: Bool {
    get { isKeyLoading || loadsUnderWay > 0 }
    set { isKeyLoading = newValue }
  }

  /// An error that nobody else tells of.
  var error: (any Error)? {
    [loadError, saveError].compactMap(\.self).first { !(($0 as? any StoreError)?.isToldByStore ?? false) }
  }

  /// Whether there is nothing to tell anybody.
  var isIdle: Bool { !isLoading && loadError == nil && saveError == nil }
}
