import Foundation

/// Writes values one after the other into one text.
///
/// A nested container or super encoder has a writer of its own, because the container around it may be written to at
/// the same time. The nested text is copied into its place as soon as it can no longer change.
final class DocumentWriter {
  /// More nested calls of `encode(to:)` than this are an error, whether they nest JSON or not; and so are fewer calls
  /// that fill the stack.
  static let maximumCalls = JSONDocument.maximumDepth + JSONDocument.maximumDepth / 8

  let options: EncodingOptions
  let text = TextBuffer()
  /// Takes the forms of values; `nil` when they are not needed.
  var forms: FormRecorder?

  let levels = Stack<EncodingLevel>()
  /// The value that can be written to without further checks; 0 for none.
  @exclusivity(unchecked) var activeID = 0
  @exclusivity(unchecked) private var lastID = 0
  /// The hashes of the member names of all open objects.
  let hashes = Stack<UInt64>()
  /// Whether an object has two members of the same name.
  @exclusivity(unchecked) var hasRepetitions = false
  /// Nested writers whose text belongs at an offset of this one.
  @exclusivity(unchecked) var inserts: [(offset: Int, writer: DocumentWriter)] = []
  /// The offsets of nested containers that continue an earlier one of the same name.
  @exclusivity(unchecked) var merges: [Int] = []
  /// An error in a call that cannot throw it.
  @exclusivity(unchecked) var failure: EncodingError?
  /// A nested writer whose text belongs at the end of this one.
  @exclusivity(unchecked) var pending: DocumentWriter?
  @exclusivity(unchecked) var recognized = RecognizedTypes<TypeEncoding>()
  @exclusivity(unchecked) var convertedKeys: [String: String] = [:]

  /// The writer around this one, and the depth of the value that this one belongs to.
  @exclusivity(unchecked) var parent: (writer: DocumentWriter, depth: Int)?
  /// The numbers of calls and of brackets around the first value.
  let outerDepth: (calls: Int, brackets: Int)
  @exclusivity(unchecked) private var stack: StackBudget
  /// The number of open brackets.
  @exclusivity(unchecked) var brackets = 0

  /// Makes a writer whose text is discarded. It takes no nested values, so that every `encode(to:)` comes to an end.
  init(rejecting options: EncodingOptions) {
    self.options = options
    outerDepth = (Self.maximumCalls - 1, 0)
    stack = StackBudget()
  }

  init(_ options: EncodingOptions, in parent: (writer: DocumentWriter, depth: Int)? = nil) {
    self.options = options
    self.parent = parent
    outerDepth = parent.map { ($0.writer.outerDepth.calls + $0.depth, $0.writer.brackets) } ?? (0, 0)
    stack = parent?.writer.stack ?? StackBudget()
    brackets = outerDepth.brackets
  }

  /// Writes a value, which must be the only one.
  func write<Value: Encodable>(_ value: Value) throws {
    defer { release() }
    try encoding(of: Value.self).write(value, key: nil, to: self)
    try finish()
  }

  /// Ends everything that is open, and inserts the texts of nested writers.
  func finish() throws {
    while let level = levels.last { try close(level) }
    try settle()
    if let failure { throw failure }
    try insertNestedTexts()
  }

  // MARK: Levels

  /// Begins a value, which may be written until ``pop()``.
  func push(_ key: (any CodingKey)? = nil) throws -> (depth: Int, id: Int) {
    guard outerDepth.calls + levels.count < Self.maximumCalls, !stack.isSpent() else { throw tooDeep() }
    lastID += 1
    levels.append(EncodingLevel(id: lastID, start: text.count, key: key, firstHash: hashes.count))
    activeID = lastID
    return (levels.count - 1, lastID)
  }

  /// Ends the innermost value.
  func pop() throws {
    guard let level = levels.last else { return }
    try close(level)
  }

  func close(_ level: EncodingLevel) throws {
    if pending != nil { try settle() }
    switch level.content {
    case .nothing: text.append("{}")
    case .single: break
    case .array:
      brackets -= 1
      text.append(UInt8(ascii: "]"))
    case .object:
      brackets -= 1
      text.append(UInt8(ascii: "}"))
      lookForRepetitions(level)
    }
    levels.removeLast()
    activeID = levels.last?.id ?? 0
  }

  /// Makes sure that the value with this identifier can be written to.
  @inline(__always)
  func activate(_ depth: Int, _ id: Int) throws {
    if activeID != id { try activateAgain(depth, id) }
  }

  private func activateAgain(_ depth: Int, _ id: Int) throws {
    guard depth == levels.count - 1, levels[depth].id == id else {
      throw misuse("A container was written to after its value had been encoded, or while a value in it was.")
    }
    try settle()
  }

  /// Begins an array or an object as the innermost value, or continues it.
  func open(_ content: EncodingLevel.Content) throws {
    let depth = levels.count - 1
    if levels[depth].content == content { return }
    guard levels[depth].content == .nothing else {
      throw misuse("A value was encoded in two ways that exclude each other.")
    }
    guard brackets < JSONDocument.maximumDepth else { throw tooDeep() }
    brackets += 1
    levels[depth].content = content
    text.append(UInt8(ascii: content == .array ? "[" : "{"))
  }

  /// Notes that the next value is the innermost value itself.
  func beginSingleValue() throws {
    let depth = levels.count - 1
    guard levels[depth].content == .nothing else {
      throw misuse("A second value was encoded where there is room for one.")
    }
    levels[depth].content = .single
  }
}
