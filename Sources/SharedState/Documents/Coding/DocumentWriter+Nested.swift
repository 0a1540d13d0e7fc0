/// Nested containers and super encoders, whose text is written apart from the values around it.
extension DocumentWriter {
  /// Makes a nested writer, whose text is the next value.
  func nest(_ key: any CodingKey) throws -> DocumentWriter {
    let nested = DocumentWriter(options, in: (self, levels.count))
    nested.forms = forms.map { FormRecorder($0.coders) }
    _ = try nested.push(key)
    pending = nested
    activeID = 0
    return nested
  }

  /// Copies the text of the nested writer, or notes the place of that text while the writer is still in use.
  func settle() throws {
    defer { activeID = levels.last?.id ?? 0 }
    guard pending != nil else { return }
    guard isKnownUniquelyReferenced(&pending), let nested = pending else {
      if let pending { inserts.append((text.count, pending)) }
      pending = nil
      return
    }
    pending = nil
    try take(nested)
  }

  /// Ends a nested writer and appends its text.
  func take(_ nested: DocumentWriter) throws {
    defer { nested.release() }
    try nested.finish()
    let offset = text.count
    nested.text.withBytes { text.append($0) }
    hasRepetitions = hasRepetitions || nested.hasRepetitions
    merges += nested.merges.map { $0 + offset }
    forms?.append(nested.forms, at: offset)
  }

  /// Makes an encoder whose output is discarded, for use where no error can be thrown.
  func reject(_ error: any Error) -> DocumentWriter {
    failure = failure ?? (error as? EncodingError) ?? misuse("\(error)")
    let nested = DocumentWriter(rejecting: options)
    _ = try? nested.push()
    return nested
  }

  /// Inserts the texts of the nested writers that were still in use.
  func insertNestedTexts() throws {
    guard !inserts.isEmpty else { return }
    let (outerMerges, outerForms) = (merges, forms)
    let outer = TextBuffer(capacity: 2 * text.count)
    outer.swap(with: text)
    let inserts = inserts
    (self.inserts, merges) = ([], [])
    forms = outerForms.map { FormRecorder($0.coders) }
    var position = 0
    func copy(upTo end: Int) {
      let shift = text.count - position
      outer.withBytes { text.append(UnsafeBufferPointer(rebasing: $0[position..<end])) }
      // A value that begins at the place of an insertion begins with the inserted text.
      merges += outerMerges.filter { position < $0 && $0 <= end || $0 == 0 && position == 0 }.map { $0 + shift }
      outerForms?.copy(from: position, through: end, to: forms, shiftedBy: shift)
      position = end
    }
    for insert in inserts {
      copy(upTo: insert.offset)
      try take(insert.writer)
    }
    copy(upTo: outer.count)
  }

  /// Releases the writers around and inside of this one, which hold each other.
  func release() {
    parent = nil
    pending?.release()
    for insert in inserts { insert.writer.release() }
    (pending, inserts) = (nil, [])
  }
}
