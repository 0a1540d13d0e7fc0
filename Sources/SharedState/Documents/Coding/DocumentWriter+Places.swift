/// The place of the writer in the document, and its way back to an earlier one.
extension DocumentWriter {
  /// The keys that lead to the innermost value, or to one around it.
  func codingPath(depth: Int? = nil) -> [any CodingKey] {
    var path = parent.map { $0.writer.codingPath(depth: min($0.depth, $0.writer.levels.count)) } ?? []
    for index in 0..<min(depth ?? levels.count, levels.count) {
      let level = levels[index]
      if let key = level.key {
        path.append(key)
      } else if let outer = index > 0 ? levels[index - 1] : parent?.writer.level(at: parent?.depth),
        outer.content == .array
      {
        path.append(PathKey(index: outer.count - 1))
      }
    }
    return path
  }

  private func level(at depth: Int?) -> EncodingLevel? {
    depth.flatMap { $0 > 0 && $0 <= levels.count ? levels[$0 - 1] : nil }
  }

  /// The keys that lead to the next value.
  func codingPath(to key: (any CodingKey)?) -> [any CodingKey] {
    if let key { return codingPath() + [key] }
    guard let level = levels.last, level.content == .array else { return codingPath() }
    return codingPath() + [PathKey(index: level.count - 1)]
  }

  func tooDeep() -> EncodingError {
    misuse("The value is nested more than \(JSONDocument.maximumDepth) levels deep, or more than the stack takes.")
  }

  func misuse(_ description: String) -> EncodingError {
    let context = EncodingError.Context(codingPath: codingPath(), debugDescription: description)
    return .invalidValue(Optional<Never>.none as Any, context)
  }

  @inline(__always)
  var mark: EncodingMark {
    EncodingMark(
      bytes: text.count,
      depth: levels.count,
      content: levels[levels.count - 1].content,
      count: levels[levels.count - 1].count,
      seen: levels[levels.count - 1].seen,
      isCase: levels[levels.count - 1].isCase,
      hashes: hashes.count,
      inserts: inserts.count,
      forms: forms?.count ?? 0,
      merges: merges.count
    )
  }

  /// Removes all that was written since the mark, for a value that could not be written.
  func goBack(to mark: EncodingMark) {
    pending?.release()
    pending = nil
    for insert in inserts.dropFirst(mark.inserts) { insert.writer.release() }
    text.truncate(to: mark.bytes)
    levels.removeLast(levels.count - mark.depth)
    levels[mark.depth - 1].content = mark.content
    levels[mark.depth - 1].count = mark.count
    levels[mark.depth - 1].seen = mark.seen
    levels[mark.depth - 1].isCase = mark.isCase
    brackets = outerDepth.brackets + levels.withElements { $0.count { $0.content == .array || $0.content == .object } }
    hashes.removeLast(hashes.count - mark.hashes)
    inserts.removeLast(inserts.count - mark.inserts)
    merges.removeLast(merges.count - mark.merges)
    forms?.truncate(to: mark.forms)
    activeID = levels[mark.depth - 1].id
  }
}
