/// The coders that the forms of a document read and write with.
struct FormCoders: Sendable {
  let encoder: DocumentEncoder
  let decoder: DocumentDecoder

  /// What reads a value of a type wherever it is, and says how our own encoder writes it.
  func reading<Value: Encodable & Hashable>(
    _ type: any Decodable.Type,
    as _: Value.Type
  ) -> @Sendable (JSONDocument, Int) -> Reading? {
    // The conformances are those that a value of the type was just written with.
    nonisolated(unsafe) let read = { (document: JSONDocument, node: Int) -> Reading? in
      guard let value = try? decoder.decode(type, at: node, of: document) as? Value,
        let text = try? encoder.text(of: value)
      else { return nil }
      return Reading(identity: Identity(value), text: text)
    }
    return { read($0, $1) }
  }
}

/// What the types say about the values in a text, by where these begin.
final class FormRecorder {
  let coders: FormCoders
  private(set) var entries: [(offset: Int, form: Form)] = []

  init(_ coders: FormCoders) {
    self.coders = coders
  }

  var count: Int { entries.count }

  func append(_ form: Form, at offset: Int) {
    entries.append((offset, form))
  }

  func append(_ other: FormRecorder?, at offset: Int) {
    entries += other?.entries.map { ($0.offset + offset, $0.form) } ?? []
  }

  /// Gives another one what begins in a part of the text.
  func copy(from start: Int, through end: Int, to other: FormRecorder?, shiftedBy shift: Int) {
    for entry in entries where start < entry.offset && entry.offset <= end || entry.offset == 0 && start == 0 {
      other?.append(entry.form, at: entry.offset + shift)
    }
  }

  func truncate(to count: Int) {
    entries.removeLast(entries.count - count)
  }

  /// The same for a text in which values begin elsewhere, or are no more.
  func moved(_ newOffset: (Int) -> Int?) -> FormRecorder {
    let moved = FormRecorder(coders)
    for entry in entries {
      if let offset = newOffset(entry.offset) { moved.append(entry.form, at: offset) }
    }
    return moved
  }
}
