import Foundation
public import SharedStateDependencies

/// Where the documents of ``SharedReaderKey/fileStorage(_:decoder:encoder:)`` keys are kept.
///
/// ```swift
/// prepareDependencies { $0.defaultFileStorage = .inMemory }
/// ```
///
/// Two storages are equal when they hold the same documents.
public struct FileStorage: Sendable {
  private let documents: FileDocuments

  init(files: any FileSystem) {
    documents = FileDocuments(files: files)
  }

  /// The files of this computer.
  ///
  /// A document is replaced in one step, so that no reader ever sees half of one, also after a crash. The first change
  /// is written immediately; after that there is at most one write a second. A pending change is written when the
  /// process ends normally. Changes that other programs make to a file are shown, and not replaced unseen. A write that
  /// has failed is tried again. A file that is mounted by itself is written in place; <doc:ValuesInFiles> describes the
  /// consequences.
  ///
  /// A document is prepared in a hidden file beside it, whose name ends with `.shared-state`. A hidden file that a
  /// killed process has left is removed by a save that comes at least a minute later.
  public static let fileSystem = Self(files: DiskFiles())

  /// A new, empty storage that lives as long as it is used, and writes nothing to the disk.
  public static var inMemory: Self { Self(files: InMemoryFiles()) }

  /// The one document at a place.
  func document(at url: URL) -> FileDocument {
    documents.document(at: Self.path(of: url))
  }

  /// The path that identifies a file.
  static func path(of url: URL) -> String {
    url.absoluteURL.standardizedFileURL.path
  }
}

extension FileStorage: Hashable {
  /// Whether both are the same storage.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.documents === rhs.documents
  }

  /// Hashes the identity of the storage.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(documents))
  }
}

extension DependencyValues {
  /// Where ``SharedReaderKey/fileStorage(_:decoder:encoder:)`` keys keep their documents: on the disk, and in previews
  /// and tests in memory, where every test has its own.
  public var defaultFileStorage: FileStorage {
    get { self[FileStorageDependency.self] }
    set { self[FileStorageDependency.self] = newValue }
  }

  private enum FileStorageDependency: DependencyKey {
    static var liveValue: FileStorage { .fileSystem }
    static var previewValue: FileStorage { .inMemory }
    static var testValue: FileStorage { .inMemory }
  }
}
