/// The members of an object by their keys: by the texts of the keys, or by what a dictionary takes for the same key.
///
/// Of several members with one key the first counts.
struct KeyedMembers {
  private let document: JSONDocument
  private let object: Int?
  private let form: MapForm?
  private var table: [Identity: JSONMembers.Element] = [:]

  /// Takes the number of an object, if there is one, and what a dictionary says of its keys.
  init(_ document: JSONDocument, of object: Int?, form: MapForm? = nil) {
    self.document = document
    self.object = object
    self.form = form
    guard let object, let form else { return }
    for member in document.members(of: object) {
      let identity = Self.identity(of: member.key, in: document, form)
      if table[identity] == nil { table[identity] = member }
    }
  }

  /// Finds a member by a key of this or another document.
  func member(at key: Int, of other: JSONDocument) -> JSONMembers.Element? {
    guard let object else { return nil }
    guard let form else { return document.member(of: object, at: key, in: other) }
    return table[Self.identity(of: key, in: other, form)]
  }

  /// Where a key of this or another document stands in a sorted dictionary.
  func order(of key: Int, in document: JSONDocument) -> CanonicalOrder {
    CanonicalOrder(form?.read(document, key)?.text ?? Array(document.text(of: key)))
  }

  /// What is no key of the type is itself, so that nobody takes it for another one.
  private static func identity(of key: Int, in document: JSONDocument, _ form: MapForm) -> Identity {
    form.read(document, key)?.identity ?? Identity(Array(JSONStringBytes(document.contents(of: key))))
  }
}
