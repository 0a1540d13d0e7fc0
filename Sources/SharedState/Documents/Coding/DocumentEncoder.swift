package import Foundation

/// Writes values as JSON documents, as a `JSONEncoder` does with the same settings, with these differences:
///
/// - The members of an object are in the order in which the type writes them.
/// - Sets and dictionaries are in canonical order: numbers by their value, strings by their Unicode scalars.
/// - Dictionaries whose keys encode as one string or one number are objects, unless a key would be read as another one.
/// - A value that is nested too deeply is an error, and so is `Decimal.nan`, which `JSONEncoder` writes as something
///   that is not JSON.
/// - Coding paths begin at the document, in nested containers, too.
/// - While a value is encoded, writing to the containers around it is an error. Nested containers and super encoders
///   may be written to alternately with the container that they are in.
package struct DocumentEncoder: Sendable {
  private let options: EncodingOptions

  /// Takes the settings of an encoder; `nil` for a subclass, which may behave differently.
  ///
  /// - Parameters:
  ///   - encoder: Its settings are read only here.
  ///   - usesArraysForDictionaries: Whether dictionaries with keys that are neither strings nor integers are arrays of
  ///     keys and values, as other Swift programs expect them, still in canonical order.
  ///   - decoder: The decoder that reads the documents. Dictionaries with keys that it would take for others are
  ///     arrays.
  package init?(
    _ encoder: JSONEncoder,
    usesArraysForDictionaries: Bool = false,
    readBy decoder: DocumentDecoder? = nil
  ) {
    guard type(of: encoder) == JSONEncoder.self else { return nil }
    options = EncodingOptions(encoder, usesArraysForDictionaries: usesArraysForDictionaries, decoder: decoder)
  }

  /// Writes a value.
  /// - Throws: The value's own error, or `EncodingError` as `JSONEncoder` does, and when the value is nested more than
  ///   ``JSONDocument/maximumDepth`` levels deep, or so deeply that it needs more stack than a thread of ours has.
  package func encode(_ value: some Encodable) throws -> Data {
    try written(value).text.withBytes { Data($0) }
  }

  /// Writes a value, with the forms of the values in it.
  /// - Parameter decoder: Reads elements and keys of other documents for the forms.
  /// - Throws: As ``encode(_:)``.
  package func encode(_ value: some Encodable, formsReadBy decoder: DocumentDecoder) throws -> EncodedDocument {
    // Forms write values only to compare them, so one line is enough.
    let forms = FormRecorder(FormCoders(encoder: plain, decoder: decoder))
    let writer = try written(value, forms)
    return EncodedDocument(text: writer.text.withBytes { Data($0) }, forms: writer.forms?.entries ?? [])
  }

  /// The text of a value that is a part of a document.
  func text(of value: some Encodable) throws -> [UInt8] {
    try written(value).text.withBytes { Array($0) }
  }

  private func written<Value: Encodable>(_ value: Value, _ forms: FormRecorder? = nil) throws -> DocumentWriter {
    let writer = DocumentWriter(options)
    writer.forms = forms
    try writer.write(value)
    try DocumentFormatter.format(writer)
    return writer
  }

  private init(_ options: EncodingOptions) {
    self.options = options
  }

  private var plain: Self { Self(options.onOneLine) }
}

/// The settings of a `JSONEncoder`, and our own.
struct EncodingOptions: Sendable {
  let dates: JSONEncoder.DateEncodingStrategy
  let data: JSONEncoder.DataEncodingStrategy
  let keys: JSONEncoder.KeyEncodingStrategy
  let floats: JSONEncoder.NonConformingFloatEncodingStrategy
  let userInfo: [CodingUserInfoKey: any Sendable]
  let escapesSlashes: Bool
  private(set) var isPretty: Bool
  let sortsKeys: Bool
  /// Whether dictionaries with keys that are neither strings nor integers are arrays of keys and values.
  let usesArraysForDictionaries: Bool
  /// The decoder that reads the documents, if it is known.
  let decoder: DocumentDecoder?
  /// Whether members are written with the names that the type defines.
  let usesPlainKeys: Bool

  init(_ encoder: JSONEncoder, usesArraysForDictionaries: Bool, decoder: DocumentDecoder?) {
    dates = encoder.dateEncodingStrategy
    data = encoder.dataEncodingStrategy
    keys = encoder.keyEncodingStrategy
    floats = encoder.nonConformingFloatEncodingStrategy
    userInfo = encoder.userInfo
    escapesSlashes = !encoder.outputFormatting.contains(.withoutEscapingSlashes)
    isPretty = encoder.outputFormatting.contains(.prettyPrinted)
    sortsKeys = encoder.outputFormatting.contains(.sortedKeys)
    self.usesArraysForDictionaries = usesArraysForDictionaries
    self.decoder = decoder
    usesPlainKeys = if case .useDefaultKeys = keys { true } else { false }
  }

  /// The same options without lines and indentation.
  var onOneLine: Self {
    var options = self
    options.isPretty = false
    return options
  }
}

/// A document that a ``DocumentEncoder`` has written, with its forms.
package struct EncodedDocument: Sendable {
  /// The document.
  package let text: Data
  /// The forms, by the offsets of their values in the text. Of two for one value the first counts.
  private let forms: [(offset: Int, form: Form)]

  init(text: Data, forms: [(offset: Int, form: Form)]) {
    self.text = text
    self.forms = forms
  }

  /// The parsed document, and the forms by the numbers of its nodes.
  /// - Throws: ``JSONParsingError`` when the document is too large.
  package func formed() throws(JSONParsingError) -> FormedDocument {
    let document = try JSONDocument(parsing: text)
    var numbered: [Int: Form] = [:]
    for (offset, form) in forms {
      guard let node = document.node(at: offset), numbered[node] == nil else { continue }
      numbered[node] = form
    }
    return FormedDocument(document: document, forms: numbered)
  }
}

extension JSONDocument {
  /// The number of the node that begins at a byte.
  fileprivate func node(at offset: Int) -> Int? {
    var (lower, upper) = (0, nodes.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if nodes[middle].lower < offset { lower = middle + 1 } else { upper = middle }
    }
    return lower < nodes.count && nodes[lower].lower == offset ? lower : nil
  }
}
