/// The value whose latency is measured: it carries the time at which it was written.
struct Tick: Codable, Sendable, Equatable {
  /// The measurement that the tick belongs to; the tick of phase ``end`` is the last of all.
  var phase = 0
  var sequence = 0
  /// The time on the monotonic clock, in nanoseconds.
  var sentAt: UInt64 = 0

  static let end = -1
}

extension Tick {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    phase = try container.decode(Int.self, forKey: .phase)
    sequence = try container.decode(Int.self, forKey: .sequence)
    sentAt = try container.decode(UInt64.self, forKey: .sentAt)
    Observer.noteDecoded(self, at: monotonicNanoseconds())
  }
}

extension Tick {
  /// Writes the JSON document without an encoder.
  func write(into bytes: inout [UInt8]) {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: #"{"phase":"#.utf8)
    bytes.append(contentsOf: String(phase).utf8)
    bytes.append(contentsOf: #","sequence":"#.utf8)
    bytes.append(contentsOf: String(sequence).utf8)
    bytes.append(contentsOf: #","sentAt":"#.utf8)
    bytes.append(contentsOf: String(sentAt).utf8)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Reads a document of ``write(into:)`` at any place in a message: its last three numbers.
  init?(message: UnsafeRawBufferPointer) {
    guard let start = message.lastIndex(of: UInt8(ascii: "{")) else { return nil }
    var numbers: [Int] = []
    var index = start
    while index < message.count {
      guard message[index] == UInt8(ascii: ":") else {
        index += 1
        continue
      }
      index += 1
      var number = 0
      let isNegative = message[index] == UInt8(ascii: "-")
      if isNegative { index += 1 }
      while index < message.count, (48...57).contains(message[index]) {
        number = number * 10 + Int(message[index] - 48)
        index += 1
      }
      numbers.append(isNegative ? -number : number)
    }
    guard numbers.count == 3 else { return nil }
    self.init(phase: numbers[0], sequence: numbers[1], sentAt: UInt64(numbers[2]))
  }
}
