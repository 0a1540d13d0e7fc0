import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// The value that the simulated services share, with the fields that their release knows.
struct SimulatedValue: Hashable, CustomStringConvertible {
  /// The release of a service, which decides the fields that it knows.
  enum Release: CaseIterable {
    case older
    case present

    var fields: [SimulatedDocument.Field] {
      switch self {
      case .older: [.first, .count]
      case .present: [.first, .second, .count]
      }
    }

    /// The fields that the program changes without asking the server first.
    var settableFields: [SimulatedDocument.Field] { fields.filter { $0 != .count } }

    /// The default of a share, with `null` for the known fields of the elements of collections.
    var recordedDefault: RedisHistory.Document {
      var fields = SimulatedValue(default: self).document.recorded.fields
      for field in self == .present ? ["list[].n", "list[].m", "set[]", "map[]"] : ["list[].n", "set[]"] {
        fields[field] = "null"
      }
      return RedisHistory.Document(fields)
    }
  }

  let release: Release
  private(set) var document: SimulatedDocument

  /// The value of a share before anything is stored.
  init(default release: Release) {
    self.init(SimulatedDocument(), release: release)
  }

  /// Returns `nil` if the data does not decode. Fields that the release does not know are left out.
  init?(_ data: Data, release: Release) {
    guard let stored = SimulatedDocument(data) else { return nil }
    self.init(stored, release: release)
  }

  private init(_ stored: SimulatedDocument, release: Release) {
    self.release = release
    document = SimulatedDocument()
    for field in release.fields { document[field] = stored[field] ?? 0 }
    document.list = (stored.list ?? []).map { item in
      SimulatedDocument.Item(id: item.id, n: item.n, m: release == .present ? item.m : nil)
    }
    document.set = stored.set ?? []
    document.map = release == .present ? stored.map ?? [:] : nil
    document.sum = stored.sum ?? 0
  }

  var description: String { document.description }

  subscript(field: SimulatedDocument.Field) -> Int {
    get { document[field] ?? 0 }
    set { document[field] = newValue }
  }

  mutating func apply(_ change: SimulatedChange) { change.apply(to: &document) }

  /// Whether the value can be encoded. Some values are refused as too large.
  var isEncodable: Bool { self[.first] == 0 || !self[.first].isMultiple(of: 11) }

  static func coder(for release: Release) -> DocumentCoder<SimulatedValue> {
    release == .older ? olderCoder : presentCoder
  }

  private static let olderCoder = makeCoder(.older)
  private static let presentCoder = makeCoder(.present)

  private static func makeCoder(_ release: Release) -> DocumentCoder<SimulatedValue> {
    DocumentCoder(
      encode: { value in
        value.isEncodable
          ? .success(value.document.data) : .failure(.valueTooLarge(name: "", bytes: 2, maximumBytes: 1))
      },
      decode: { data in
        SimulatedValue(data, release: release).map { .success($0) }
          ?? .failure(.undecodable(name: "", reason: "simulated", writer: nil))
      },
      form: { $0.document.formed },
      rules: DocumentCoder.Rules(name: "")
    )
  }
}
