import Foundation
@testable import SharedStateRedis

/// What the simulated services share, as a document that has the fields of their release.
struct SimulatedValue: Hashable, CustomStringConvertible {
  /// What a service knows.
  enum Release: CaseIterable {
    case older
    case present

    var fields: [SimulatedDocument.Field] {
      switch self {
      case .older: [.first, .count]
      case .present: [.first, .second, .count]
      }
    }

    /// What the program changes without asking the server first.
    var settableFields: [SimulatedDocument.Field] { fields.filter { $0 != .count } }
  }

  private(set) var document: SimulatedDocument

  /// What a share has before anything is stored.
  init(default release: Release) {
    document = SimulatedDocument()
    for field in release.fields { document[field] = 0 }
  }

  /// `nil` for what does not decode. Fields that the release does not know are left out.
  init?(_ data: Data, release: Release) {
    guard let stored = SimulatedDocument(data) else { return nil }
    document = SimulatedDocument()
    for field in release.fields { document[field] = stored[field] ?? 0 }
  }

  var description: String { document.description }

  subscript(field: SimulatedDocument.Field) -> Int {
    get { document[field] ?? 0 }
    set { document[field] = newValue }
  }

  /// Every now and then a value does not fit.
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
      rules: DocumentCoder.Rules(name: "")
    )
  }
}
