import Foundation
import SharedState

/// Measures encoding, decoding and merging documents against Foundation's coders.
struct DocumentBenchmarks {
  private let isQuick: Bool
  private let encoder: DocumentEncoder
  private let decoder: DocumentDecoder
  private let foundationEncoder = JSONEncoder()
  private let foundationDecoder = JSONDecoder()

  private static let foundationTarget = Row.Target.ratioAtMost(1)
  private static let mergeTarget = Row.Target.atMost(10)

  init(isQuick: Bool) throws {
    self.isQuick = isQuick
    guard let encoder = DocumentEncoder(foundationEncoder), let decoder = DocumentDecoder(foundationDecoder) else {
      throw BenchmarkError.codersRefused
    }
    (self.encoder, self.decoder) = (encoder, decoder)
  }

  func run() throws -> [(heading: String, rows: [Row])] {
    [
      try section("a struct of 8 fields", Account(), operations: 20_000),
      try section("a config of 60 fields", Config(), operations: 1_000, [merge()]),
      try section("1,000 identified elements", Catalogue.elements, operations: 40),
    ]
  }

  private func section<Value: Codable & Equatable>(
    _ name: String,
    _ value: Value,
    operations: Int,
    _ others: [Row] = []
  ) throws -> (heading: String, rows: [Row]) {
    let text = try encoder.encode(value)
    let rows = try rows(of: value, text, operations: isQuick ? operations / 10 : operations)
    return ("Documents: \(name), \(text.count) bytes (a = allocations for each)", rows + others)
  }

  private var rounds: Int { isQuick ? 3 : 7 }

  private func rows<Value: Codable & Equatable>(of value: Value, _ text: Data, operations: Int) throws -> [Row] {
    let document = try JSONDocument(parsing: text)
    // A coder that fails would be quick.
    let read = try decoder.decode(Value.self, from: text)
    let readByFoundation = try foundationDecoder.decode(Value.self, from: foundationEncoder.encode(value))
    precondition(read == value && readByFoundation == value)
    let encoded = compare(rounds: rounds, operations: operations) {
      _ = try? foundationEncoder.encode(value)
    } _: {
      _ = try? encoder.encode(value)
    }
    let decoded = compare(rounds: rounds, operations: operations) {
      _ = try? foundationDecoder.decode(Value.self, from: text)
    } _: {
      _ = try? decoder.decode(Value.self, from: text)
    }
    let parsed = compare(rounds: rounds, operations: operations) {
      _ = try? JSONDocument(parsing: text)
    } _: {
      _ = try? decoder.decode(Value.self, from: text)
    }
    let formed = compare(rounds: rounds, operations: operations) {
      _ = try? encoder.encode(value)
    } _: {
      _ = try? encoder.encode(value, formsReadBy: decoder)
    }
    let completed = compare(rounds: rounds, operations: operations) {
      _ = try? decoder.decode(Value.self, from: document)
    } _: {
      _ = try? decoder.decode(Value.self, from: document, completedBy: document)
    }
    return [
      row("encode, beside JSONEncoder", encoded, Self.foundationTarget),
      row("decode, beside JSONDecoder", decoded, Self.foundationTarget),
      row("decode, beside a bare parse", parsed),
      row("encode with forms, beside without", formed),
      row("decode what is parsed with a default, beside without", completed),
    ]
  }

  /// Merges a change of one field here with a change of another one there.
  private func merge() throws -> Row {
    let (base, theirs) = (Config(), Config(database: Section(port: 5_433)))
    let mine = Config(cache: Section(timeout: 2.5))
    let formed = try [base, mine].map { try encoder.encode($0, formsReadBy: decoder).formed() }
    let texts = try [base, theirs].map { try encoder.encode($0) }
    let (stored, other) = (try JSONDocument(parsing: texts[0]), try JSONDocument(parsing: texts[1]))
    func merged() -> ThreeWayMerge.Outcome {
      ThreeWayMerge.merge(raw: stored, base: formed[0], mine: formed[1], theirs: other)
    }
    let both = try decoder.decode(Config.self, from: merged().document)
    precondition(both.cache == mine.cache && both.database == theirs.database)
    let measured = compare(rounds: rounds, operations: isQuick ? 500 : 5_000) {
      _ = try? JSONDocument(parsing: texts[1])
    } _: {
      _ = merged()
    }
    return row("merge of one field, parsed already, beside a parse", measured, Self.mergeTarget)
  }

  private func row(_ name: String, _ measured: (cost: Cost, floor: Cost), _ target: Row.Target? = nil) -> Row {
    let (cost, floor) = measured
    return Row(
      name: name,
      figure: cost.nanoseconds / 1_000,
      floor: floor.nanoseconds / 1_000,
      unit: "µs",
      target: target,
      note: "\(Int(cost.allocations.rounded())) a, floor \(Int(floor.allocations.rounded())) a"
    )
  }
}

// MARK: Values

private struct Account: Codable, Equatable {
  var id = 48_213
  var name = "Ada Lovelace"
  var isActive = true
  var credit = 1_250
  var rate = 0.125
  var region = "eu-west"
  var contact: String? = "ada@example.com"
  var version = 7
}

private struct Config: Codable, Equatable {
  var database = Section()
  var cache = Section()
  var search = Section()
  var mail = Section()
  var billing = Section()
  var reports = Section()
}

private struct Section: Codable, Equatable {
  struct Route: Codable, Equatable {
    var path: String
    var methods = ["GET", "POST"]
    var weight: Int
  }

  var name = "a section of a config"
  var host = "backend.internal.example.com"
  var port = 5_432
  var isEnabled = true
  var timeout = 1.5
  var retries: Int? = 3
  var owner = "platform-team"
  var tags = ["production", "europe", "tier-1", "encrypted"]
  var limits = [[10, 100], [20, 200], [50, 1_000], [100, 2_500], [250, 10_000]]
  var routes = (1...6).map { Route(path: "v\($0).items.search", weight: 10 * $0) }
}

private struct Catalogue: Codable, Equatable, Identifiable {
  var id: Int
  var name: String
  var price: Double
  var stock: Int
  var isAvailable: Bool
  var category = "household"

  static let elements = IdentifiedArrayOf<Catalogue>(
    uniqueElements: (0..<1_000).map {
      Catalogue(
        id: 100_000 + $0,
        name: "article \($0)",
        price: Double($0) + 0.95,
        stock: $0 % 90,
        isAvailable: $0 % 7 > 0
      )
    }
  )
}
