import SharedState
import Synchronization

/// An option in which two shares of one name may differ. Encoders, decoders and rules cannot be compared; only the
/// presence of rules can.
enum KeyOption: Equatable, Sendable, CaseIterable {
  case conflict
  case removal
  case timeToLive
  case maximumBytes
  case usesArraysForDictionaries
  case detectsForeignEdits
  case isStrict
  case unreadableMembers
  case replicas
  case validate

  var name: String {
    switch self {
    case .conflict: "conflict policy"
    case .removal: "removal policy"
    case .timeToLive: "time to live"
    case .maximumBytes: "limit to its size"
    case .usesArraysForDictionaries: "arrays for dictionaries"
    case .detectsForeignEdits: "detection of external edits"
    case .isStrict: "strictness"
    case .unreadableMembers: "policy for unreadable members"
    case .replicas: "replicas"
    case .validate: "rules"
    }
  }
}

extension RedisSharedKey.Options {
  /// The options that differ. Called for every share; the result is almost always empty.
  func differences(from other: Self) -> [KeyOption] {
    let isSame =
      conflict == other.conflict && removal == other.removal && timeToLive == other.timeToLive
      && maximumBytes == other.maximumBytes && usesArraysForDictionaries == other.usesArraysForDictionaries
      && detectsForeignEdits == other.detectsForeignEdits && isStrict == other.isStrict
      && unreadableMembers == other.unreadableMembers && replicas == other.replicas
      && (validate == nil) == (other.validate == nil)
    return isSame ? [] : KeyOption.allCases.filter { text(of: $0) != other.text(of: $0) }
  }

  /// The setting of an option, in words.
  func text(of option: KeyOption) -> String {
    switch option {
    case .conflict:
      switch conflict {
      case .merge: "merge"
      case .lastWriteWins: "last write wins"
      case .reject: "reject"
      }
    case .removal:
      switch removal {
      case .laterWins: "the later one wins"
      case .changeWins: "the change wins"
      case .removalWins: "the removal wins"
      }
    case .timeToLive: timeToLive.map { "\($0)" } ?? "for ever"
    case .maximumBytes: "\(maximumBytes) bytes"
    case .usesArraysForDictionaries: usesArraysForDictionaries ? "on" : "off"
    case .detectsForeignEdits: detectsForeignEdits ? "on" : "off"
    case .isStrict: isStrict ? "on" : "off"
    case .unreadableMembers:
      switch unreadableMembers {
      case .hold: "hold the document"
      case .keepLast: "keep the last value"
      case .useDefault: "use the default"
      }
    case .replicas: "\(replicas.count)" + (replicas.isOnDisk ? " on disk" : "")
    case .validate: validate == nil ? "none" : "some"
    }
  }
}

/// Remembers which differing options were reported for which names, so that each is reported once.
final class ReportedOptions: Sendable {
  private struct Difference: Hashable {
    let name: Name
    let option: KeyOption
  }

  /// The number of differences that are remembered; further ones are not reported.
  static let maximum = 1_000

  private let reported = Mutex<Set<Difference>>([])

  /// Remembers a difference, and returns whether it is to be reported.
  func insert(_ name: Name, _ option: KeyOption) -> Bool {
    reported.withLock { reported in
      reported.count < Self.maximum && reported.insert(Difference(name: name, option: option)).inserted
    }
  }
}
