import Foundation

/// The operations on files that a document needs. Called from any thread, never with a lock held.
protocol FileSystem: Sendable {
  /// The least time between two writes of one document.
  var saveInterval: Duration { get }

  /// The content of a file; `nil` when there is none.
  func read(_ path: String) throws -> FileContent?

  /// Distinguishes the present content from an earlier one without reading it; `nil` when there is no file.
  func stamp(of path: String) throws -> FileStamp?

  /// Replaces the content of a file in one step; makes missing directories.
  ///
  /// - Parameter verify: Called directly before the replacement; it is not made if this throws an error.
  /// - Returns: The stamp of the new content.
  func write(_ data: Data, to path: String, verify: () throws -> Void) throws -> FileStamp

  /// Deletes a file, if there is one.
  func remove(_ path: String) throws

  /// Calls back, on any thread, whenever something may have happened to the file.
  ///
  /// - Parameter onEnd: Called, on any thread, when the system ends the watch by itself.
  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) throws -> SharedSubscription

  /// The time between two attempts to watch a file that the system refuses to watch.
  var watchInterval: Duration { get }
}

/// The content of a file.
struct FileContent {
  var data: Data
  var stamp: FileStamp
}

/// Distinguishes one content of a file from another: the identity of the file, its length, and when it was changed.
package struct FileStamp: Hashable, Sendable {
  var device: UInt64 = 0
  var inode: UInt64 = 0
  var size: Int64 = 0
  var modified: Int64 = 0
  var changed: Int64 = 0
}
