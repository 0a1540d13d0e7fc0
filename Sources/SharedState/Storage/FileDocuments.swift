import Synchronization

/// Finds the one document of each file.
final class FileDocuments: Sendable {
  private struct Entry {
    weak var document: FileDocument?
  }

  private let files: any FileSystem
  private let documents = Mutex<[Name: Entry]>([:])

  init(files: any FileSystem) {
    self.files = files
  }

  func document(at path: String) -> FileDocument {
    let name = Name(path)
    return documents.withLock { documents in
      if let document = documents[name]?.document { return document }
      let document = FileDocument(path: path, files: files) { [weak self] in self?.forget(name) }
      documents[name] = Entry(document: document)
      return document
    }
  }

  private func forget(_ name: Name) {
    documents.withLock { documents in
      if let entry = documents[name], entry.document == nil { documents[name] = nil }
    }
  }
}
