import Foundation

/// Prints the story on standard output, and remembers how long changes took to arrive.
struct Narrator {
  private var steps = 0
  private var delays: [Int] = []

  func title(_ text: String) {
    say("\n\(text)\n\(String(repeating: "=", count: text.count))")
  }

  mutating func step(_ text: String) {
    steps += 1
    say("\n\(steps). \(text)")
  }

  func remark(_ text: String) {
    say("   (\(text))")
  }

  func command(_ command: String) {
    say("   $ \(command)")
  }

  func output(_ text: String) {
    say("   \(text)")
  }

  func quote(_ speaker: String, _ words: String) {
    say("   \(speaker.padding(toLength: 9, withPad: " ", startingAt: 0)) \(words)")
  }

  func quote(_ service: Participant, _ words: String) {
    quote(service.name, words)
  }

  /// Quotes a service that sees a change, and remembers the delay if another service made the change.
  mutating func sighting(_ service: Participant, _ words: String) {
    quote(service, words)
    if let match = words.firstMatch(of: /(\d+) µs after (\S+)/), match.2 != service.name, let delay = Int(match.1) {
      delays.append(delay)
    }
  }

  func summarise() {
    say("\nThey agree. Changes reached the other services within \(delays.min() ?? 0) to \(delays.max() ?? 0) µs.\n")
  }

  private func say(_ text: String) {
    FileHandle.standardOutput.writeLine(text)
  }
}
