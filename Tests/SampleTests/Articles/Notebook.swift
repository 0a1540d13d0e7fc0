import Foundation
import SharedState
import SharedStateDependencies

struct Note: Equatable, Codable, Sendable {
  let id: UUID
  let date: Date
}

final class Notebook {
  @Dependency(\.date) var date
  @Dependency(\.uuid) var uuid
  @Shared(.inMemory("notes")) var notes: [Note] = []

  func addButtonTapped() {
    let note = Note(id: uuid(), date: date.now)
    $notes.withLock { $0.append(note) }
  }
}
