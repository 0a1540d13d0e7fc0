import Foundation
public import SharedStateDependencies
import Synchronization

/// Where the documents of ``SharedReaderKey/fileStorage(_:decoder:encoder:)`` keys are kept.
///
/// ```swift
/// prepareDependencies { $0.defaultFileStorage = .inMemory }
/// ```
public final class FileStorage: Sendable {
  private struct Entry {
    weak var document: FileDocument?
  }

  private let files: any FileSystem
  private let documents = Mutex<[Name: Entry]>([:])

  init(files: any FileSystem) {
    self.files = files
  }

  /// The files of this computer.
  ///
  /// A document is replaced in one step, so that nobody ever reads half of one, also after a crash. The first change
  /// is written at once, then there is at most one write a second. What is pending is written when the process ends
  /// normally. Changes that others make to a file are played back.
  public static let fileSystem = FileStorage(files: DiskFiles())

  /// A new, empty storage that lives as long as it is used, and writes nothing to the disk.
  public static var inMemory: FileStorage { FileStorage(files: InMemoryFiles()) }

  /// The one document at a place.
  func document(at url: URL) -> FileDocument {
    let path = Self.path(of: url)
    let name = Name(path)
    return documents.withLock { documents in
      if let document = documents[name]?.document { return document }
      let document = FileDocument(path: path, files: files) { [weak self] in self?.forget(name) }
      documents[name] = Entry(document: document)
      return document
    }
  }

  /// What tells one file from another by its name.
  static func path(of url: URL) -> String {
    url.absoluteURL.standardizedFileURL.path
  }

  private func forget(_ name: Name) {
    documents.withLock { documents in
      if let entry = documents[name], entry.document == nil { documents[name] = nil }
    }
  }
}

extension DependencyValues {
  /// Where ``SharedReaderKey/fileStorage(_:decoder:encoder:)`` keys keep their documents: on the disk, and in memory in
  /// previews and tests, where every test has its own.
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
