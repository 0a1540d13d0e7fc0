/// A type of the standard library that is written without an encoder of its own.
protocol CollectionEncodable {
  static var collectionEncoding: TypeEncoding { get }
}

extension Optional: CollectionEncodable where Wrapped: Encodable {
  static var collectionEncoding: TypeEncoding { OptionalEncoding<Wrapped>() }
}

private final class OptionalEncoding<Wrapped: Encodable>: ValueEncoding<Wrapped?>, @unchecked Sendable {
  private let wrapped = TypeEncoding.of(Wrapped.self)

  override func write(_ value: Wrapped?, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    if let value {
      try wrapped.write(value, key: key, to: writer)
    } else {
      writer.text.append("null")
    }
  }
}

extension Array: CollectionEncodable where Element: Encodable {
  static var collectionEncoding: TypeEncoding { ArrayEncoding<Element>() }
}

extension ContiguousArray: CollectionEncodable where Element: Encodable {
  static var collectionEncoding: TypeEncoding { ContiguousArrayEncoding<Element>() }
}

extension DocumentWriter {
  /// Writes the elements of an array.
  func write<Element>(
    _ elements: some Sequence<Element>,
    key: (any CodingKey)?,
    _ encoding: ValueEncoding<Element>
  ) throws {
    let (depth, _) = try push(key)
    try open(.array)
    for element in elements {
      separate(depth)
      try encoding.write(element, key: nil, to: self)
    }
    try pop()
  }
}

private final class ArrayEncoding<Element: Encodable>: ValueEncoding<[Element]>, @unchecked Sendable {
  private let element = TypeEncoding.of(Element.self)
  private let list = ListForms.of(Element.self)
  private let unknown = UnknownValues.of(Element.self)

  override func write(_ elements: [Element], key: (any CodingKey)?, to writer: DocumentWriter) throws {
    if let forms = writer.forms,
      let form = list?.form(of: elements, forms.coders) ?? unknown?.form(of: elements, forms.coders)
    {
      forms.append(form, at: writer.text.count)
    }
    try writer.write(elements, key: key, element)
  }
}

private final class ContiguousArrayEncoding<Element: Encodable>: ValueEncoding<ContiguousArray<Element>>,
  @unchecked Sendable
{
  private let element = TypeEncoding.of(Element.self)

  override func write(
    _ elements: ContiguousArray<Element>,
    key: (any CodingKey)?,
    to writer: DocumentWriter
  ) throws {
    try writer.write(elements, key: key, element)
  }
}

extension Set: CollectionEncodable where Element: Encodable {
  static var collectionEncoding: TypeEncoding { SetEncoding<Element>() }
}

/// Writes sets in canonical order.
private final class SetEncoding<Element: Encodable & Hashable>: ValueEncoding<Set<Element>>, @unchecked Sendable {
  private let element = TypeEncoding.of(Element.self)

  override func write(_ elements: Set<Element>, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let start = writer.text.count
    let (depth, _) = try writer.push(key)
    try writer.open(.array)
    let part = DocumentWriter(writer.options, in: (writer, writer.levels.count))
    var written: [(order: CanonicalOrder, element: Element)] = []
    written.reserveCapacity(elements.count)
    for element in elements {
      writer.levels[depth].count += 1
      written.append((CanonicalOrder(try part.text(of: element, self.element)), element))
    }
    written.sort { $0.order < $1.order }
    writer.levels[depth].count = 0
    for element in written {
      writer.separate(depth)
      element.order.json.withUnsafeBufferPointer { writer.text.append($0) }
    }
    try writer.pop()
    if let forms = writer.forms, let type = Element.self as? any Decodable.Type {
      let identities = written.map { Identity($0.element) }
      let read = forms.coders.reading(type, as: Element.self)
      forms.append(.set(ElementForm(identities: identities, read: read)), at: start)
    }
  }
}

extension DocumentWriter {
  /// Writes a value that is inserted into the document later, and returns its text.
  func text<Value>(of value: Value, _ encoding: ValueEncoding<Value>) throws -> [UInt8] {
    text.truncate(to: 0)
    (merges, hasRepetitions) = ([], false)
    do {
      try encoding.write(value, key: nil, to: self)
      try finish()
    } catch {
      release()
      throw error
    }
    if hasRepetitions { return try DocumentFormatter.text(of: self) }
    return text.withBytes { Array($0) }
  }
}
