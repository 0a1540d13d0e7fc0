/// The request of a line.
enum Command: Equatable {
  case put(name: Substring, value: Substring)
  case get(name: Substring)
  case quit
  case unknown

  init(_ line: some StringProtocol) {
    let words = Substring(line).split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    switch (words[0].uppercased(), words.count) {
    case ("PUT", 3): self = .put(name: words[1], value: words[2])
    case ("GET", 2): self = .get(name: words[1])
    case ("QUIT", 1): self = .quit
    default: self = .unknown
    }
  }
}
