import Foundation

/// How values are read: the settings of a `JSONDecoder`.
struct DecodingOptions: Sendable {
  let dates: JSONDecoder.DateDecodingStrategy
  let data: JSONDecoder.DataDecodingStrategy
  let keys: JSONDecoder.KeyDecodingStrategy
  let floats: JSONDecoder.NonConformingFloatDecodingStrategy
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// Whether names of members are looked for as the type gives them.
  let usesPlainKeys: Bool
  /// Whether what becomes of a name may depend on the path to it.
  let looksAtPaths: Bool

  init(_ decoder: JSONDecoder) {
    dates = decoder.dateDecodingStrategy
    data = decoder.dataDecodingStrategy
    keys = decoder.keyDecodingStrategy
    floats = decoder.nonConformingFloatDecodingStrategy
    userInfo = decoder.userInfo
    usesPlainKeys = if case .useDefaultKeys = keys { true } else { false }
    looksAtPaths = if case .custom = keys { true } else { false }
  }
}
