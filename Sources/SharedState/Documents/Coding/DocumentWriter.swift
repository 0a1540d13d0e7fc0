import Foundation

/// Writes values one after the other into one text.
///
/// What is written into a nested container or by a super encoder has a writer of its own, since the container around it
/// may go on at the same time. Its text is copied into its place as soon as nobody can write to it any more.
final class DocumentWriter {
  /// Deeper calls of `encode(to:)` than this are an error, whether they nest JSON or not; and so are fewer that fill the
  /// stack.
  static let maximumCalls = JSONDocument.maximumDepth + JSONDocument.maximumDepth / 8

  let options: EncodingOptions
  let text = TextBuffer()
  /// How the types say what they know of their values; `nil` when nobody wants to know.
  var forms: FormRecorder?

  let levels = Stack<EncodingLevel>()
  /// The value that may be written to without looking further; 0 for none.
  @exclusivity(unchecked) var activeID = 0
  @exclusivity(unchecked) private var lastID = 0
  /// The names of the members of all open objects.
  let hashes = Stack<UInt64>()
  /// Whether there is an object with two members of the same name.
  @exclusivity(unchecked) var hasRepetitions = false
  /// Texts of nested writers that belong between two bytes of this one.
  @exclusivity(unchecked) var inserts: [(offset: Int, writer: DocumentWriter)] = []
  /// Where nested containers begin that go on with one of the same name.
  @exclusivity(unchecked) var merges: [Int] = []
  /// What went wrong where nothing can be thrown.
  @exclusivity(unchecked) var failure: EncodingError?
  /// A nested writer whose text belongs behind the last byte.
  @exclusivity(unchecked) var pending: DocumentWriter?
  @exclusivity(unchecked) var recognized = RecognizedTypes<TypeEncoding>()
  @exclusivity(unchecked) var convertedKeys: [String: String] = [:]

  /// The writer around this one, and which of its values.
  @exclusivity(unchecked) var parent: (writer: DocumentWriter, depth: Int)?
  /// How many calls and how many brackets there are around the first value.
  let outerDepth: (calls: Int, brackets: Int)
  @exclusivity(unchecked) private var stack: StackBudget
  /// How many open brackets there are.
  @exclusivity(unchecked) var brackets = 0

  /// Makes a writer whose text nobody takes. It takes no values that nest, so that whoever writes comes to an end.
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

  /// Ends all that is open, and puts the texts of nested writers where they belong.
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

  /// Makes sure that the value with this number can be written to.
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

  /// Begins an array or an object with the innermost value, or goes on with it.
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

  /// Notes that the innermost value is what follows.
  func beginSingleValue() throws {
    let depth = levels.count - 1
    guard levels[depth].content == .nothing else {
      throw misuse("A second value was encoded where there is room for one.")
    }
    levels[depth].content = .single
  }
}
