public import Foundation
import SharedState

/// The first line of a log.
private struct Heading<State>: Sendable where State: Sendable {
  var state: State?
  let digest: String
  let dropped: Int
}

extension Heading: Encodable where State: Encodable {}
extension Heading: Decodable where State: Decodable {}

/// Replaces a state that is not written.
private struct Unwritten: Codable, Sendable {}

/// A line for an action.
private struct Line<Action: Sendable>: Sendable {
  let action: Action
  let from: Origin
  let nextElement: Int
  let digest: String

  enum Origin: String, Codable, Sendable {
    case outside
    case effect
  }
}

extension Line: Encodable where Action: Encodable {}
extension Line: Decodable where Action: Decodable {}

/// A log that cannot be read.
public struct CorruptedActionLog: Error, LocalizedError, CustomStringConvertible {
  /// The line, from 1.
  public let line: Int
  /// The reason, without values of the line.
  public let reason: String

  /// The line and the reason.
  public var description: String { "Line \(line) of the action log cannot be read: \(reason)." }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension ActionLog where Action: Encodable {
  /// The log as lines of JSON: a heading without the state, then one for each action.
  ///
  /// - Throws: The error of the encoding of an action.
  public func jsonLines() throws -> Data {
    try jsonLines { Heading<Unwritten>(state: nil, digest: $0.digest, dropped: $1) }
  }

  fileprivate func jsonLines(_ heading: (RecordedState<State>, Int) throws -> some Encodable) throws -> Data {
    let contents = snapshot
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let start = contents.start else { return Data() }
    var data = try encoder.encode(heading(start, contents.droppedCount))
    for entry in contents.inOrder {
      data.append(UInt8(ascii: "\n"))
      data += try encoder.encode(
        Line(
          action: entry.action,
          from: entry.isSentByEffect ? .effect : .outside,
          nextElement: entry.nextElement,
          digest: entry.state.digest
        )
      )
    }
    data.append(UInt8(ascii: "\n"))
    return data
  }
}

extension ActionLog where Action: Encodable, State: Encodable {
  /// The log as lines of JSON: a heading with the state before the first action, then one for each action.
  ///
  /// - Throws: The error of the encoding of the state or of an action.
  public func jsonLines() throws -> Data {
    let state = initialState
    return try jsonLines { Heading(state: state, digest: $0.digest, dropped: $1) }
  }
}

extension ActionLog where Action: Decodable {
  /// Reads the lines of JSON that `jsonLines()` has written, without the state before the first action.
  ///
  /// - Throws: ``CorruptedActionLog`` for the first line that cannot be read.
  public convenience init(jsonLines data: Data) throws {
    try self.init(jsonLines: data) { (heading: Heading<Unwritten>) in .digest(heading.digest) }
  }

  fileprivate convenience init<Written: Decodable>(
    jsonLines data: Data,
    _ start: (Heading<Written>) -> RecordedState<State>
  ) throws {
    var lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
    if lines.last?.isEmpty == true { lines.removeLast() }
    let heading: Heading<Written> = try Self.read(lines.popFirst() ?? Data(), 1)
    var contents = Contents()
    contents.start = start(heading)
    contents.droppedCount = heading.dropped
    for (index, text) in lines.enumerated() {
      let line: Line<Action> = try Self.read(text, index + 2)
      contents.entries.append(
        Entry(
          action: line.action,
          isSentByEffect: line.from == .effect,
          nextElement: line.nextElement,
          state: .digest(line.digest)
        )
      )
    }
    self.init(limit: max(1, contents.entries.count), contents)
  }

  private static func read<Value: Decodable>(_ line: Data, _ number: Int) throws(CorruptedActionLog) -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: line)
    } catch {
      throw CorruptedActionLog(line: number, reason: CodingErrorSummary.text(of: error))
    }
  }
}

extension ActionLog where Action: Decodable, State: Decodable {
  /// Reads the lines of JSON that `jsonLines()` has written.
  ///
  /// - Throws: ``CorruptedActionLog`` for the first line that cannot be read.
  public convenience init(jsonLines data: Data) throws {
    try self.init(jsonLines: data) { (heading: Heading<State>) in
      // A state may lose parts by encoding, such as the identities of a stack. Then it cannot be the initial state.
      guard let state = heading.state, RecordedState.digest(of: state) == heading.digest else {
        return .digest(heading.digest)
      }
      return .value(state)
    }
  }
}
