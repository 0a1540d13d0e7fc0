/// In what the options of two shares of one name may differ. An encoder and a decoder cannot be compared.
enum KeyOption: Hashable, Sendable, CaseIterable {
  case conflict
  case timeToLive
  case maximumBytes
  case detectsForeignEdits

  var name: String {
    switch self {
    case .conflict: "conflict policy"
    case .timeToLive: "time to live"
    case .maximumBytes: "limit to its size"
    case .detectsForeignEdits: "detection of foreign edits"
    }
  }
}

extension RedisSharedKey.Options {
  /// Which options are not the same. Called for every share, and almost always there are none.
  func differences(from other: Self) -> [KeyOption] {
    let isSame =
      conflict == other.conflict && timeToLive == other.timeToLive && maximumBytes == other.maximumBytes
      && detectsForeignEdits == other.detectsForeignEdits
    return isSame ? [] : KeyOption.allCases.filter { text(of: $0) != other.text(of: $0) }
  }

  /// How an option is set, in words.
  func text(of option: KeyOption) -> String {
    switch option {
    case .conflict:
      switch conflict {
      case .merge: "merge"
      case .lastWriteWins: "last write wins"
      case .reject: "reject"
      }
    case .timeToLive: timeToLive.map { "\($0)" } ?? "for ever"
    case .maximumBytes: "\(maximumBytes) bytes"
    case .detectsForeignEdits: detectsForeignEdits ? "on" : "off"
    }
  }
}
