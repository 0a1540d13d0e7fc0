/// Orders the elements of a list when two sides have moved, added and removed some. The moves of both sides count.
///
/// Of the elements that all three lists have, those in the longest increasing subsequence were not moved. Elements that
/// neither side has moved, and those that both sides have put in the same place, are anchors. Elements that I have
/// placed go in front of the anchor that follows them in mine, after those that they have put there.
struct ElementOrder {
  private let base: [Int?]
  private let mine: [Int?]
  private let theirs: [Int?]
  private let myElements: [Int]
  private let theirElements: [Int]
  private let count: Int

  /// - Parameters:
  ///   - base: The numbers of the elements before both changes, without repetitions.
  ///   - mine: The elements in my order.
  ///   - theirs: The elements in their order.
  ///   - count: All numbers are below this one.
  init(base: [Int], mine: [Int], theirs: [Int], count: Int) {
    func positions(_ elements: [Int]) -> [Int?] {
      var positions = [Int?](repeating: nil, count: count)
      for (position, element) in elements.enumerated() { positions[element] = position }
      return positions
    }
    self.base = positions(base)
    self.mine = positions(mine)
    self.theirs = positions(theirs)
    myElements = mine
    theirElements = theirs
    self.count = count
  }

  /// Puts the remaining elements in order, including those that are brought back.
  /// - Parameter isLeft: Whether each element remains, by its number.
  func elements(isLeft: [Bool]) -> [Int] {
    let isInPlace = unmoved(in: myElements)
    let isAnchor = anchors(notMovedByMe: isInPlace)
    let isPlacedByMe = myElements.reduce(into: [Bool](repeating: false, count: count)) { isPlaced, element in
      isPlaced[element] =
        isLeft[element] && !isAnchor[element]
        && (theirs[element] == nil || base[element] == nil || !isInPlace[element])
    }
    // The elements that I have placed, by the anchor that follows them.
    var runs: [Int: [Int]] = [:]
    var run: [Int] = []
    var front: [Int]?
    for element in myElements where isLeft[element] {
      if isPlacedByMe[element] {
        run.append(element)
      } else if isAnchor[element] {
        if front == nil { front = run } else if !run.isEmpty { runs[element] = run }
        run = []
      }
    }
    var result = front ?? []
    for element in theirElements where isLeft[element] && !isPlacedByMe[element] {
      result += runs[element] ?? []
      result.append(element)
    }
    return result + run
  }

  /// Marks elements that neither side has moved, and those that both have moved or added in agreement.
  private func anchors(notMovedByMe isInPlace: [Bool]) -> [Bool] {
    let isInTheirPlace = unmoved(in: theirElements)
    let isStill = (0..<count).map { isInPlace[$0] && isInTheirPlace[$0] }
    // The gap of an element is the number of unmoved elements in front of it.
    func gaps(_ elements: [Int]) -> [Int] {
      var gap = 0
      return elements.reduce(into: [Int](repeating: 0, count: count)) { gaps, element in
        if isStill[element] { gap += 1 } else { gaps[element] = gap }
      }
    }
    let (gaps, theirGaps) = (gaps(myElements), gaps(theirElements))
    var isAnchor = isStill
    var group: [Int] = []
    func agree() {
      for index in Self.longestIncrease(in: group.map { theirs[$0] ?? 0 }) { isAnchor[group[index]] = true }
      group = []
    }
    for element in myElements {
      if isStill[element] {
        agree()
      } else if theirs[element] != nil, gaps[element] == theirGaps[element],
        base[element] == nil || (!isInPlace[element] && !isInTheirPlace[element])
      {
        group.append(element)
      }
    }
    agree()
    return isAnchor
  }

  /// Marks the elements that all three lists have, in the same order in one list as in base.
  private func unmoved(in elements: [Int]) -> [Bool] {
    let common = elements.filter { base[$0] != nil && mine[$0] != nil && theirs[$0] != nil }
    var isUnmoved = [Bool](repeating: false, count: count)
    for index in Self.longestIncrease(in: common.map { base[$0] ?? 0 }) { isUnmoved[common[index]] = true }
    return isUnmoved
  }

  /// The indices of the longest increasing subsequence, from the last to the first. Of several such subsequences it is
  /// the one with the latest elements.
  ///
  /// Source: Schensted, "Longest Increasing and Decreasing Subsequences", Canadian Journal of Mathematics 13 (1961).
  static func longestIncrease(in numbers: [Int]) -> [Int] {
    // The smallest number that ends a subsequence of each length.
    var ends: [Int] = []
    let lengths = numbers.map { number in
      var (lower, upper) = (0, ends.count)
      while lower < upper {
        let middle = (lower + upper) / 2
        if ends[middle] < number { lower = middle + 1 } else { upper = middle }
      }
      if lower == ends.count { ends.append(number) } else { ends[lower] = number }
      return lower + 1
    }
    var needed = ends.count
    var following: Int?
    return numbers.indices.reversed().filter { index in
      guard needed > 0, lengths[index] == needed, following.map({ numbers[index] < $0 }) ?? true else { return false }
      following = numbers[index]
      needed -= 1
      return true
    }
  }
}
