/// A document with fields of several kinds.
struct ShopConfig: Codable, Hashable, Sendable {
  struct Delivery: Codable, Hashable, Sendable {
    var days = 3
    var carrier = "post"
  }

  /// An enumeration that encodes as an object with a single key.
  enum Discount: Codable, Hashable, Sendable {
    case none
    case percent(Int)
    case fixed(amount: Int, currency: String)
  }

  var maxItems = 10
  var currency = "CHF"
  var discount = Discount.none
  var delivery = Delivery()
  var tags: [String] = []
}

/// The same document in an older release, without discounts and carriers.
struct OldShopConfig: Codable, Hashable, Sendable {
  struct Delivery: Codable, Hashable, Sendable {
    var days = 3
  }

  var maxItems = 10
  var currency = "CHF"
  var delivery = Delivery()
}

/// A document that does not decode when its two fields contradict each other.
struct Span: Codable, Hashable, Sendable {
  var lower: Int
  var upper: Int

  init(_ lower: Int, _ upper: Int) {
    (self.lower, self.upper) = (lower, upper)
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    lower = try container.decode(Int.self, forKey: .lower)
    upper = try container.decode(Int.self, forKey: .upper)
    guard lower <= upper else {
      throw DecodingError.dataCorruptedError(forKey: .upper, in: container, debugDescription: "lower than lower")
    }
  }
}
