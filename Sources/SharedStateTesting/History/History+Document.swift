public import Foundation

extension History {
  /// A JSON document: the text of each member of an object; of anything else one member without a name.
  ///
  /// Fields are what guarantees are about, so it makes no difference how a document is written. A field that is `null`
  /// is as good as none.
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

    /// Whether this is what a box of this default shows of a document, whose other fields it does not know.
    func shows(_ stored: Document, default initial: Document) -> Bool {
      Set(initial.fields.keys).union(fields.keys).allSatisfy { self[$0] == stored[$0] ?? initial[$0] }
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
