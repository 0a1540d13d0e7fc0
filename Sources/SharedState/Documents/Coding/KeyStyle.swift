import Foundation

/// The names of members in snake case and in camel case, as `JSONEncoder` and `JSONDecoder` convert them.
enum KeyStyle {
  /// `oneTwoThree` as `one_two_three`, and `myURLSession` as `my_url_session`.
  static func snakeCase(_ name: String) -> String {
    let characters = Array(name)
    var words: [String] = []
    var start = 0
    // The first character begins a word in either case.
    var position = characters.isEmpty ? 0 : 1
    while position < characters.count {
      guard characters[position...].firstIndex(where: isUpper) != nil else { break }
      while !isUpper(characters[position]) { position += 1 }
      words.append(String(characters[start..<position]).lowercased())
      start = position
      while position < characters.count, !isLower(characters[position]) { position += 1 }
      guard position < characters.count else { break }
      // The last of several capitals belongs to the next word.
      if position - start > 1 {
        words.append(String(characters[start..<(position - 1)]).lowercased())
        start = position - 1
      }
    }
    words.append(String(characters[start...]).lowercased())
    return words.joined(separator: "_")
  }

  private static func isUpper(_ character: Character) -> Bool {
    character.unicodeScalars.allSatisfy(CharacterSet.uppercaseLetters.contains)
  }

  private static func isLower(_ character: Character) -> Bool {
    character.unicodeScalars.allSatisfy(CharacterSet.lowercaseLetters.contains)
  }

  /// `one_two_three` as `oneTwoThree`; leading and trailing underscores stay.
  static func camelCase(_ name: String) -> String {
    guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
      return name
    }
    let words = name[first...last].split(separator: "_")
    let joined =
      words.count == 1
      ? String(words[0]) : words[0].lowercased() + words.dropFirst().map { String($0).capitalized }.joined()
    return name[..<first] + joined + name[name.index(after: last)...]
  }
}
