public import Foundation

extension History {
  /// A JSON document: the text of each member of an object; of anything else one member without a name.
  ///
  /// Fields are what guarantees are about, so it makes no difference how a document is written. A field that is `null`
  /// is as good as none.
  ///
  /// Where elements of a collection merge one by one, record each as fields of its own, such as `list[7].name` and
  /// `set[red]`, and that the collection is there at all as another one, such as `list`. A default tells by fields like
  /// `list[].name` and `set[]`, which are `null`, that a box shows whatever elements there are.
  public struct Document: Hashable, Codable, Sendable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
    /// The JSON text of each field.
    public private(set) var fields: [String: String]

    /// A document of these fields, each with its JSON text.
    public init(_ fields: [String: String] = [:]) {
      self.fields = fields
    }

    /// A document of these fields, each with its JSON text.
    public init(dictionaryLiteral elements: (String, String)...) {
      fields = Dictionary(elements, uniquingKeysWith: { $1 })
    }

    /// Reads what is stored; `nil`: it is no JSON.
    public init?(json: Data) {
      guard let value = try? JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed) else { return nil }
      let members = value as? [String: Any] ?? ["": value]
      fields = members.compactMapValues(Self.text)
    }

    /// The document that a value is stored as.
    ///
    /// - Throws: What encoding it throws.
    public init(of value: some Encodable) throws {
      let encoder = JSONEncoder()
      self = Document(json: try encoder.encode(value)) ?? Document()
    }

    /// The JSON text of a field; `nil`: there is none, or it is `null`.
    public subscript(field: String) -> String? {
      fields[field].flatMap { $0 == "null" ? nil : $0 }
    }

    /// Sets what the other one has, and leaves the rest.
    mutating func apply(_ changes: Document) {
      fields.merge(changes.fields) { $1 }
    }

    /// Sets what the other one has, and removes what is `null` there.
    mutating func change(by changes: Document) {
      for (field, text) in changes.fields { fields[field] = text == "null" ? nil : text }
    }

    /// Whether this is what a box of this default shows of a document, whose other fields it does not know.
    func shows(_ stored: Document, default initial: Document) -> Bool {
      func isShown(_ field: String) -> Bool { self[field] == stored[field] ?? initial[field] }
      return fields.keys.allSatisfy(isShown)
        && initial.fields.keys.allSatisfy { fields[$0] != nil || isShown($0) }
        && stored.fields.keys.allSatisfy { fields[$0] != nil || !initial.knows(element: $0) || isShown($0) }
    }

    /// Whether a field belongs to an element of a collection, and a box of this default knows it.
    func knows(element field: String) -> Bool {
      guard let (start, end) = Self.brackets(in: field) else { return false }
      return fields[String(field[...start] + field[end...])] != nil
    }

    /// Whether there is anything of a collection or an element: of `list`, or of `list[7]`.
    func has(_ place: String) -> Bool {
      fields.contains { field, text in
        text != "null" && (field == place || field.hasPrefix(place + "[") || field.hasPrefix(place + "."))
      }
    }

    /// The collection and the element that a field of an element belongs to, the outer one first; of `list[]`, which is
    /// no element, the collection.
    static func places(of field: String) -> [String] {
      guard let (start, end) = brackets(in: field) else { return [] }
      let collection = String(field[..<start])
      return field.utf8.distance(from: start, to: end) == 1 ? [collection] : [collection, String(field[...end])]
    }

    private static func brackets(in field: String) -> (start: String.Index, end: String.Index)? {
      guard let start = field.utf8.firstIndex(of: UInt8(ascii: "[")) else { return nil }
      return field.utf8[start...].firstIndex(of: UInt8(ascii: "]")).map { (start, $0) }
    }

    /// The fields, in order.
    public var description: String {
      "{" + fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
    }

    private static func text(_ value: Any) -> String? {
      let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .sortedKeys]
      let data = try? JSONSerialization.data(withJSONObject: value, options: options)
      return data.map { String(decoding: $0, as: UTF8.self) }
    }
  }
}
