import SharedState

struct Count: Codable {
  var count = 0
}

struct SharedCount {
  @Shared var count: Int
}

#if WRONG
  extension SharedCount: Encodable {}  // error: type 'SharedCount' does not conform to protocol 'Encodable'
  extension SharedCount: Decodable {}  // error: type 'SharedCount' does not conform to protocol 'Decodable'
#endif
