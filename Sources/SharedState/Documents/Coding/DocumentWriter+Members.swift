import Foundation

/// The members of objects and the elements of arrays.
extension DocumentWriter {
  /// Begins the next element of the innermost value.
  @inline(__always)
  func beginElement(_ depth: Int, _ id: Int) throws {
    try activate(depth, id)
    if levels[depth].content != .array { try open(.array) }
    separate(depth)
  }

  /// Writes the comma in front of the next element or member.
  @inline(__always)
  func separate(_ depth: Int) {
    if levels[depth].count > 0 { text.append(UInt8(ascii: ",")) }
    levels[depth].count += 1
  }

  /// Begins the next member of the innermost value.
  /// - Returns: Whether no earlier member has this name.
  @inline(__always) @discardableResult
  func beginMember(_ key: some CodingKey, _ depth: Int, _ id: Int, isNested: Bool = false) throws -> Bool {
    try activate(depth, id)
    if levels[depth].content != .object { try open(.object) }
    separate(depth)
    let start = text.count
    text.append(
      quoted: options.usesPlainKeys ? key.stringValue : converted(key),
      escapingSlashes: options.escapesSlashes
    )
    let isNew = note(text.withBytes(from: start) { NameHash.hash($0) }, depth, isNested: isNested)
    text.append(UInt8(ascii: ":"))
    levels[depth].isCase = isNested && levels[depth].count == 1
    return isNew
  }

  /// How many members are compared with each other as they come. Larger objects are searched for repetitions at the
  /// end.
  private static var comparedCount: Int { 64 }

  @inline(__always)
  private func note(_ hash: UInt64, _ depth: Int, isNested: Bool) -> Bool {
    let bit: UInt64 = 1 << (hash >> 58)
    defer { hashes.append(hash) }
    if levels[depth].seen & bit == 0 {
      levels[depth].seen |= bit
      return true
    }
    guard isNested || levels[depth].count <= Self.comparedCount,
      hashes.withElements(from: levels[depth].firstHash, { $0.contains(hash) })
    else { return true }
    hasRepetitions = true
    return false
  }

  /// Looks for members of the same name in a complete object.
  func lookForRepetitions(_ level: EncodingLevel) {
    if level.count > Self.comparedCount, !hasRepetitions {
      let sorted = hashes.withElements(from: level.firstHash) { $0.sorted() }
      hasRepetitions = zip(sorted, sorted.dropFirst()).contains { $0 == $1 }
    }
    hashes.removeLast(hashes.count - level.firstHash)
  }

  /// The name of a member, converted by the strategy for keys.
  func converted(_ key: some CodingKey) -> String {
    switch options.keys {
    case .convertToSnakeCase:
      let name = key.stringValue
      if let known = convertedKeys[name] { return known }
      let converted = KeyStyle.snakeCase(name)
      convertedKeys[name] = converted
      return converted
    case .custom(let convert): return convert(codingPath() + [key]).stringValue
    default: return key.stringValue
    }
  }

  /// Writes a value completely, or not at all.
  @inline(__always)
  func attempt(_ write: (DocumentWriter) throws -> Void) throws {
    let mark = mark
    do { try write(self) } catch {
      goBack(to: mark)
      throw error
    }
  }
}
