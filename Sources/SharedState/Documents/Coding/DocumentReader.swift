import Foundation

/// Reads values from a document.
///
/// It keeps no path: the place of a value is found on demand, which is after an error, or when a type tries several
/// ways to read it.
final class DocumentReader {
  /// More nested calls of `init(from:)` than this are an error, whether they go deeper into the document or not; and so
  /// are fewer calls that fill the stack.
  static let maximumCalls = 2 * JSONDocument.maximumDepth

  let document: JSONDocument
  let options: DecodingOptions
  /// The document that supplies members that are missing here.
  let fallback: DocumentReader?
  /// The elements of lists and sets that cannot be read, and are left out.
  let leftOut: Set<Int>
  /// The outermost value that is read.
  private let root: Int
  /// The keys that lead to that value.
  private let basePath: [any CodingKey]

  /// The paths of the members that were taken from ``fallback``.
  @exclusivity(unchecked) var completed: [[String]] = []
  @exclusivity(unchecked) var recognized = RecognizedTypes<TypeDecoding>()
  @exclusivity(unchecked) var calls = 0
  @exclusivity(unchecked) var stack = StackBudget()
  /// The dictionaries that are being read, the innermost one last, so that their keys can be distinguished from member
  /// names.
  @exclusivity(unchecked) var openDictionaries: [(object: Int, keys: DictionaryKeyKind)] = []
  @exclusivity(unchecked) private var isProbing = false
  /// Whether the outermost object was asked for members, and whether it had one of them.
  @exclusivity(unchecked) private var hasAskedRoot = false
  @exclusivity(unchecked) private var hasKnownMember = false
  /// For each object below the root the key that is likely to be asked for next; 0 for the first one.
  @exclusivity(unchecked) private var cursors: ContiguousArray<UInt32> = []
  /// The members of objects by their names, converted by the strategy for keys.
  @exclusivity(unchecked) private var convertedMembers: [Int: [String: Int]] = [:]
  /// The places of values; `nil` until the first one is asked for.
  @exclusivity(unchecked) private var places: DocumentPlaces?

  /// Takes a document.
  /// - Parameters:
  ///   - root: The number of the node that is read.
  ///   - fallback: The document that supplies members that are missing.
  ///   - leftOut: The elements that are left out where their list or set has identities.
  ///   - path: The keys that lead to it.
  init(
    _ document: JSONDocument,
    _ options: DecodingOptions,
    root: Int = 0,
    fallback: DocumentReader? = nil,
    leavingOut leftOut: Set<Int> = [],
    path: [any CodingKey] = []
  ) {
    self.document = document
    self.options = options
    self.root = root
    self.fallback = fallback
    self.leftOut = leftOut
    basePath = path
  }

  /// Reads the value with this number.
  func read<Value: Decodable>(_ type: Value.Type, at place: ReadingPlace) throws -> Value {
    try decoding(of: type).read(at: place, from: self)
  }

  /// Finds the decoding of a type.
  @inline(__always)
  func decoding<Value: Decodable>(of type: Value.Type) -> ValueDecoding<Value> {
    let decoding = recognized.role(of: type) { TypeDecoding.of(type) }
    // The registry has made it for this type.
    return unsafeDowncast(decoding, to: ValueDecoding<Value>.self)
  }

  @inline(__always)
  func kind(_ node: Int) -> JSONNode.Kind { document.nodes[node].kind }

  // MARK: Members

  /// Finds the value of a member.
  @inline(__always)
  func member(_ key: some CodingKey, of object: Int) -> Int? {
    let value =
      options.usesPlainKeys ? member(named: key.stringValue, of: object) : converted(object)[key.stringValue]
    if object == root {
      hasAskedRoot = true
      if value != nil { hasKnownMember = true }
    }
    return value
  }

  /// Whether the outermost value is an object that has members, and its type has asked for others only.
  var isOfOtherShape: Bool {
    hasAskedRoot && !hasKnownMember && kind(root) == .object && Int(document.nodes[root].next) > root + 1
  }

  /// Finds the value of a member by its name in the document. Most types ask in the order of the document.
  func member(named name: String, of object: Int) -> Int? {
    var name = name
    let found = name.withUTF8 { name in
      if document.nodes[object].hasRepetitions { return document.key(of: object, named: name) }
      if cursors.isEmpty { cursors = ContiguousArray(repeating: 0, count: Int(document.nodes[root].next) - root) }
      let expected = cursors[object - root] == 0 ? object + 1 : Int(cursors[object - root])
      if expected < document.nodes[object].next, document.hasKey(expected, named: name) { return expected }
      return document.key(of: object, named: name)
    }
    guard let key = found ?? equivalentKey(to: name, of: object) else { return nil }
    if !cursors.isEmpty { cursors[object - root] = document.nodes[key + 1].next }
    return key + 1
  }

  /// Finds a key that Swift takes for the same string, although it has other scalars.
  private func equivalentKey(to name: String, of object: Int) -> Int? {
    guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    return document.members(of: object).first { validString(at: $0.key) == name }?.key
  }

  /// The names and values of an object's members as a type sees them, in order. Of several with one name the first
  /// counts.
  func members(of object: Int) -> [(name: String, value: Int)] {
    // The type may know all of them.
    if object == root { hasKnownMember = true }
    if !options.usesPlainKeys {
      return converted(object).map { ($0.key, $0.value) }.sorted { $0.1 < $1.1 }
    }
    var names: Set<String> = []
    return document.members(of: object)
      .compactMap { key, value in
        guard let name = validString(at: key), names.insert(name).inserted else { return nil }
        return (name, value)
      }
  }

  func converted(_ object: Int) -> [String: Int] {
    if let known = convertedMembers[object] { return known }
    let path = options.looksAtPaths ? codingPath(to: object) : []
    var members: [String: Int] = [:]
    for (key, value) in document.members(of: object) {
      guard let name = validString(at: key) else { continue }
      let converted = convert(name, path)
      if members[converted] == nil { members[converted] = value }
    }
    convertedMembers[object] = members
    return members
  }

  /// A name, converted by the strategy for keys.
  func convert(_ name: String, _ path: [any CodingKey]) -> String {
    switch options.keys {
    case .convertFromSnakeCase: KeyStyle.camelCase(name)
    case .custom(let convert): convert(path + [PathKey(stringValue: name)]).stringValue
    default: name
    }
  }

  // MARK: The place of a value

  /// Reads a value when failure is expected, so that no error needs a path.
  func probe<Value>(_ read: (DocumentReader) throws -> Value) -> Value? {
    let wasProbing = isProbing
    isProbing = true
    defer { isProbing = wasProbing }
    return try? read(self)
  }

  /// The keys that lead to a value.
  func codingPath(to node: Int) -> [any CodingKey] {
    if isProbing { return [] }
    let known = places ?? DocumentPlaces(document, below: root)
    places = known
    var path = basePath
    // All of them are around the innermost one, so they are met in this order.
    var dictionaries = openDictionaries[...]
    for (container, position) in known.path(to: node) {
      if kind(Int(container)) == .array {
        path.append(PathKey(index: Int(position)))
      } else {
        let name = validString(at: Int(position)) ?? ""
        dictionaries = dictionaries.drop { $0.object < container }
        if let dictionary = dictionaries.first, dictionary.object == container {
          path.append(entryKey(name, dictionary.keys, path))
        } else {
          path.append(PathKey(stringValue: convert(name, path)))
        }
      }
    }
    return path
  }

  /// The key of an entry, by its name in the document.
  private func entryKey(_ name: String, _ keys: DictionaryKeyKind, _ path: [any CodingKey]) -> PathKey {
    switch keys {
    case .string, .encoded: return PathKey(entry: name)
    case .integer:
      let converted = convert(name, path)
      return Int(converted).map { PathKey(intValue: $0) } ?? PathKey(entry: converted)
    case .representable: return PathKey(entry: convert(name, path))
    }
  }
}

/// The place of a value, and of the value that completes it.
struct ReadingPlace {
  private let nodeNumber: UInt32
  private let fallbackNumber: UInt32

  init(_ node: Int, fallback: Int? = nil) {
    nodeNumber = UInt32(truncatingIfNeeded: node)
    fallbackNumber = fallback.map { UInt32(truncatingIfNeeded: $0) } ?? .max
  }

  /// The number of its node.
  var node: Int { Int(nodeNumber) }

  /// The number of a node in the document that supplies missing members.
  var fallback: Int? { fallbackNumber == .max ? nil : Int(fallbackNumber) }
}
