import Foundation
@testable import SharedState
import SharedStateDependencies

/// The documents of one merge, made at random.
struct Merging {
  var schema: Schema
  var raw: String
  var mine: String
  var theirs: String
  var removal: RemovalPolicy

  /// - Parameters:
  ///   - mergeable: Whether some types have a merge of their own.
  ///   - isOurs: Whether the stored document was written by the same encoder.
  init(_ schema: Schema? = nil, mergeable: Bool = true, isOurs: Bool = false, using generator: inout SplitMix64) throws
  {
    let schema = schema ?? .random(mergeable: mergeable, using: &generator)
    self.schema = schema
    var stored = Sample.random(schema, using: &generator)
    if !isOurs { stored = stored.withUnknownMembers(schema, using: &generator) }
    raw = isOurs ? try Self.encoded(schema, stored.text) : stored.text(using: &generator)
    let base = try Self.encoded(schema, raw)
    mine = try Self.encoded(schema, Sample(JSONValue(base)).changed(schema, using: &generator).text)
    theirs = stored.changed(schema, isForeign: true, using: &generator).text(using: &generator)
    removal = RemovalPolicy.allCases.randomElement(using: &generator) ?? .laterWins
  }

  /// The text that a service writes after it has read a document.
  static func encoded(_ schema: Schema, _ text: String) throws -> String {
    let document = try SchemaEncoder.base(schema, stored: JSONValue(text)).document
    return String(decoding: document.bytes, as: UTF8.self)
  }

  func merged() throws -> (text: String, isChanged: Bool) {
    let raw = try JSONValue(raw)
    let outcome = ThreeWayMerge.merge(
      raw: raw.document,
      base: try SchemaEncoder.base(schema, stored: raw),
      mine: try SchemaEncoder.mine(schema, JSONValue(mine)),
      theirs: try JSONValue(theirs).document,
      removal: removal
    )
    return (String(decoding: outcome.document, as: UTF8.self), outcome.isChanged)
  }

  func meaning(_ text: String, isFull: Bool = false) throws -> [UInt8] {
    schema.meaning(of: try JSONValue(text), isFull: isFull)
  }
}
