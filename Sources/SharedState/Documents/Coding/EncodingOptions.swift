import Foundation

/// How values are written: the settings of a `JSONEncoder`, and our own.
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
  /// What reads the documents, where that is known.
  let decoder: DocumentDecoder?
  /// Whether names of members are written as the type gives them.
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

  /// The same without lines and indentation.
  var onOneLine: Self {
    var options = self
    options.isPretty = false
    return options
  }
}
