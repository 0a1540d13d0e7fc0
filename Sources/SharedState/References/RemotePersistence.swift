/// Keeps a value where others may change it at the same time.
package protocol RemotePersistence: ReferencePersistence {
  /// Changes the kept value in one step that nobody comes between, and returns once it is kept and shown.
  ///
  /// - Parameter update: Takes a pointer to a value of the reference's type, and says whether it has changed it. It may
  ///   run again, on a newer value; what it did before then counts for nothing.
  func updateAtomically(
    within timeout: Duration?,
    _ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) async throws
}
