package import Foundation

/// Writes values as JSON documents, as a `JSONEncoder` does with the same settings, with these differences:
///
/// - The members of an object are in the order in which the type writes them.
/// - Sets and dictionaries are in canonical order: numbers by their value, strings by their Unicode scalars.
/// - Dictionaries whose keys encode as one string or one number are objects, unless a key would be read as another one.
/// - What is nested too deeply is an error, and so is `Decimal.nan`, of which `JSONEncoder` makes what is not JSON.
/// - Coding paths begin at the document, in nested containers, too.
/// - While a value is encoded, nobody writes to the containers around it; who does gets an error. Nested containers and
///   super encoders may be written to in turns with the container that they are in.
package struct DocumentEncoder: Sendable {
  private let options: EncodingOptions

  /// Takes the settings of an encoder; `nil` for a subclass, which may do what it likes.
  ///
  /// - Parameters:
  ///   - encoder: Is looked at only here.
  ///   - usesArraysForDictionaries: Whether dictionaries with keys that are neither strings nor integers are arrays of
  ///     keys and values, as other Swift programs expect them, still in canonical order.
  ///   - decoder: What reads the documents: dictionaries with keys that it would take for others are arrays.
  package init?(
    _ encoder: JSONEncoder,
    usesArraysForDictionaries: Bool = false,
    readBy decoder: DocumentDecoder? = nil
  ) {
    guard type(of: encoder) == JSONEncoder.self else { return nil }
    options = EncodingOptions(encoder, usesArraysForDictionaries: usesArraysForDictionaries, decoder: decoder)
  }

  /// Writes a value.
  /// - Throws: What the value throws, or `EncodingError` as `JSONEncoder` does, and when the value is nested more than
  ///   ``JSONDocument/maximumDepth`` levels deep, or so deeply that it needs more stack than a thread of ours has.
  package func encode(_ value: some Encodable) throws -> Data {
    try written(value).text.withBytes { Data($0) }
  }

  /// Writes a value, and says what its types know of what is in it.
  /// - Parameter decoder: Reads elements and keys of other documents for the forms.
  /// - Throws: As ``encode(_:)``.
  package func encode(_ value: some Encodable, formsReadBy decoder: DocumentDecoder) throws -> EncodedDocument {
    // Forms write what has to be compared, on one line.
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
