/// Finds the keys of an object by their hashes.
struct JSONIndex: Sendable {
  /// Whether two keys have the same hash, which all equal ones have.
  private(set) var hasRepetitions = false
  /// The numbers of the keys, each at its hash or in one of the places that follow; 0 where there is none.
  private var places: ContiguousArray<UInt32>

  /// Takes the nodes of a document, and the number of an object's.
  init(_ nodes: [JSONNode], of object: Int) {
    // Half of the places are free, so that a search soon ends.
    let members = JSONMembers(nodes, of: object)
    let count = members.reduce(0) { count, _ in count + 1 }
    var size = 32
    while size < 2 * count { size *= 2 }
    places = ContiguousArray(repeating: 0, count: size)
    for member in members {
      let hash = nodes[member.key].hash
      var place = Int(hash) & (size - 1)
      while places[place] != 0 {
        if nodes[Int(places[place])].hash == hash { hasRepetitions = true }
        place = (place + 1) & (size - 1)
      }
      places[place] = UInt32(member.key)
    }
  }

  /// The keys that may have a hash, and others; of equal ones the first comes first.
  func keys(withHash hash: UInt32) -> some Sequence<Int> {
    sequence(state: Int(hash) & (places.count - 1)) { [places] place -> Int? in
      guard places[place] != 0 else { return nil }
      defer { place = (place + 1) & (places.count - 1) }
      return Int(places[place])
    }
  }
}
