public import Foundation

extension RedisHistory {
  /// A JSON document: the text of each member of an object. Any other value is one member with an empty name.
  ///
  /// The guarantees are about fields, so the formatting of a document makes no difference. A field that is `null`
  /// counts as absent.
  ///
  /// Where elements of a collection merge one by one, record each element as fields of its own, such as `list[7].name`
  /// and
  /// `set[red]`. Record the existence of the collection as another field, such as `list`. In a default, fields such as
  /// `list[].name` and `set[]`, which are `null`, mean that a box shows all elements.
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

    /// Parses a stored document; `nil`: it is not JSON.
    public init?(json: Data) {
      guard let value = try? JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed) else { return nil }
      let members = value as? [String: Any] ?? ["": value]
      fields = members.compactMapValues(Self.text)
    }

    /// The document that a value is stored as.
    ///
    /// - Throws: The error of the encoder.
    public init(of value: some Encodable) throws {
      let encoder = JSONEncoder()
      self = Document(json: try encoder.encode(value)) ?? Document()
    }

    /// The JSON text of a field; `nil`: there is none, or it is `null`.
    public subscript(field: String) -> String? {
      fields[field].flatMap { $0 == "null" ? nil : $0 }
    }

    /// Sets the fields of another document, and keeps the rest.
    mutating func apply(_ changes: Document) {
      fields.merge(changes.fields) { $1 }
    }

    /// Sets the fields of another document, and removes those that are `null` there.
    mutating func change(by changes: Document) {
      for (field, text) in changes.fields { fields[field] = text == "null" ? nil : text }
    }

    /// Whether a box with this default shows a stored document as this one. The box ignores fields that it does not
    /// know.
    func shows(_ stored: Document, default initial: Document) -> Bool {
      func isShown(_ field: String) -> Bool { self[field] == stored[field] ?? initial[field] }
      return fields.keys.allSatisfy(isShown)
        && initial.fields.keys.allSatisfy { fields[$0] != nil || isShown($0) }
        && stored.fields.keys.allSatisfy { fields[$0] != nil || !initial.knows(element: $0) || isShown($0) }
    }

    /// Whether a field belongs to an element of a collection, and a box with this default knows it.
    func knows(element field: String) -> Bool {
      guard let (start, end) = Self.brackets(in: field) else { return false }
      return fields[String(field[...start] + field[end...])] != nil
    }

    /// Whether the document has any field of a collection such as `list`, or of an element such as `list[7]`.
    func has(_ place: String) -> Bool {
      fields.contains { field, text in
        text != "null" && (field == place || field.hasPrefix(place + "[") || field.hasPrefix(place + "."))
      }
    }

    /// The collection and the element that a field belongs to, in this order. For `list[]`, which is no element, only
    /// the collection.
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
