import Foundation
import Testing

@testable import SharedState

/// The settings of coders, compared with JSONEncoder and JSONDecoder.
@Suite("Coding strategies, compared with Foundation", .timeLimit(.minutes(5)))
struct StrategyComparisonTests {
  struct Dates: Codable {
    var date: Date
    var list: [Date]
    var map: [String: Date]
    var optional: Date?
  }

  struct Failure: Error {}

  private static let dates: [(JSONEncoder.DateEncodingStrategy, JSONDecoder.DateDecodingStrategy)] = {
    let formatter = DateFormatter()
    formatter.dateFormat = "yyyy/MM/dd"
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.locale = Locale(identifier: "en_US_POSIX")
    return [
      (.deferredToDate, .deferredToDate), (.secondsSince1970, .secondsSince1970),
      (.millisecondsSince1970, .millisecondsSince1970), (.iso8601, .iso8601),
      (.formatted(formatter), .formatted(formatter)),
      (.custom { _, _ in }, .custom { _ in Date(timeIntervalSince1970: 1) }),
      (.custom { _, _ in throw Failure() }, .custom { _ in throw Failure() }),
      (
        .custom { date, encoder in
          var container = encoder.unkeyedContainer()
          try container.encode(encoder.codingPath.map(\.stringValue))
          try container.encode(date.timeIntervalSince1970)
        },
        .custom { decoder in
          var container = try decoder.unkeyedContainer()
          _ = try container.decode([String].self)
          return Date(timeIntervalSince1970: try container.decode(Double.self))
        }
      ),
      (
        .custom { date, encoder in
          var container = encoder.singleValueContainer()
          try container.encode("\(date.timeIntervalSince1970)")
        },
        .custom { decoder in
          guard let seconds = Double(try decoder.singleValueContainer().decode(String.self)) else { throw Failure() }
          return Date(timeIntervalSince1970: seconds)
        }
      ),
    ]
  }()

  @Test("Dates are coded as by Foundation under every strategy", arguments: 0..<9)
  func datesAreAlike(index: Int) throws {
    let both = try Comparison { encoder, decoder in
      (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = Self.dates[index]
    }
    for seconds in [0, 1, -1, 1_714_979_289, 1_714_979_289.25, 0.1, -62_135_596_800, 253_402_300_800] {
      let date = Date(timeIntervalSince1970: seconds)
      try both.write(date)
      try both.write(Dates(date: date, list: [date], map: ["a": date], optional: date))
    }
    for text in [
      "0", "1.5", "-1", "1e300", "null", "true", "{}", "[]", "[[],1]", "\"1\"", "\"2024-05-06T07:08:09Z\"",
      "\"2024-05-06T07:08:09.5Z\"", "\"2024-05-06T07:08:09+02:00\"", "\"2024-05-06\"", "\"2024/05/06\"", "\"\"",
    ] {
      both.read(Date.self, text)
      both.read([Date].self, "[\(text)]")
      both.read(Dates.self, "{\"date\":\(text),\"list\":[\(text)],\"map\":{\"a\":\(text)},\"optional\":\(text)}")
    }
  }

  @Test("Data is coded as by Foundation under every strategy", arguments: 0..<4)
  func dataAreAlike(index: Int) throws {
    let strategies: [(JSONEncoder.DataEncodingStrategy, JSONDecoder.DataDecodingStrategy)] = [
      (.base64, .base64), (.deferredToData, .deferredToData),
      (
        .custom { data, encoder in
          var container = encoder.container(keyedBy: Name.self)
          try container.encode(data.count, forKey: Name("count"))
        },
        .custom { Data(count: try $0.container(keyedBy: Name.self).decode(Int.self, forKey: Name("count"))) }
      ),
      (.custom { _, _ in }, .custom { _ in Data() }),
    ]
    let both = try Comparison { encoder, decoder in
      (encoder.dataEncodingStrategy, decoder.dataDecodingStrategy) = strategies[index]
    }
    for data in [Data(), Data([0]), Data([1, 2, 3]), Data(repeating: 0xFF, count: 100)] {
      try both.write(data)
      try both.write(["a": [data]])
    }
    for text in [
      "\"\"", "\"AA==\"", "\"AQID\"", "\"AQI\"", "\"A Q I D\"", "\"AQ-_\"", "[1,2]", "[256]", "[-1]", "null", "1",
      "{\"count\":3}", "{}", "[]",
    ] {
      both.read(Data.self, text)
      both.read([String: Data].self, "{\"a\":\(text)}")
    }
  }

  @Test("Floats that are not numbers in JSON are coded as by Foundation")
  func floatsAreAlike() throws {
    let both = try Comparison { encoder, decoder in
      encoder.nonConformingFloatEncodingStrategy =
        .convertToString(positiveInfinity: "+∞", negativeInfinity: "-∞", nan: "NaN")
      decoder.nonConformingFloatDecodingStrategy =
        .convertFromString(positiveInfinity: "+∞", negativeInfinity: "-∞", nan: "NaN")
    }
    for number in [Double.infinity, -.infinity, .nan, 0] {
      try both.write(number)
      try both.write([Float(number)])
      try both.write(["a": number])
    }
    // JSONDecoder recognises these strings only without escapes.
    for text in [#""+∞""#, #""-∞""#, #""NaN""#, #""nan""#, "1", "null", "\"1\""] {
      both.read(Double.self, text)
      both.read([Float].self, "[\(text)]")
      both.read(Decimal.self, text)
      both.read(Int.self, text)
      both.read(Double?.self, text)
    }
  }

  static let names = [
    "", "a", "A", "ab", "aB", "AB", "Ab", "oneTwoThree", "OneTwo", "oneTWO", "oneTWOThree", "URLPath", "myURL",
    "myURLs",
    "_one", "__oneTwo", "oneTwo_", "oneTwo__", "_oneTwo_", "_", "__", "one_two", "one__two", "one_Two", "a1B2", "a1b",
    "1A", "aÉb", "éÀ", "aa😀Bb", "xßY", "iOS", "aBCDeF", "ABC", "aB_cD", "one two", "a-B", "snake_case_", "_Snake",
    "x_1_y", "x1_y2", "Über_Maß", "ǅa", "one_TWO_three", "ONE_TWO", "a_b_c", "_a_b", "a__b", "a_", "A_B",
  ]

  @Test("Names are converted to and from snake case as by Foundation", arguments: names)
  func namesAreConvertedAlike(name: String) throws {
    let both = try Comparison { encoder, decoder in
      (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
    }
    struct Member: Encodable {
      let name: Name
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: name)
        var nested = container.nestedContainer(keyedBy: Name.self, forKey: Name("outerName"))
        try nested.encode(["aB": 2], forKey: name)
        try nested.encode([1: [name.stringValue: 3]], forKey: Name("numbers"))
      }
    }
    struct Keys: Decodable {
      var names: [String]
      var paths: [String] = []
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        names = container.allKeys.map(\.stringValue)
        for key in container.allKeys {
          do {
            _ = try container.decode(Bool.self, forKey: key)
          } catch DecodingError.typeMismatch(_, let context) {
            paths.append(context.codingPath.map(\.stringValue).joined(separator: "/"))
          }
        }
      }
    }
    try both.write(Member(name: Name(name)))
    both.read(Keys.self, "{\"\(name)\":1}")
    both.read([String: Int].self, "{\"\(name)\":1}")
    both.read([String: Bool].self, "{\"\(name)\":1}")
    both.read([String: Keys].self, "{\"\(name)\":{\"\(name)\":1}}")
  }

  struct Snake: Codable {
    enum CodingKeys: String, CodingKey { case one = "oneTwo", two = "one_two", three = "myURL", four = "four" }
    var one: Int?, two: Int?, three: Int?, four: Int?
  }

  @Test("Names that become equal are coded as by Foundation")
  func namesBecomingEqual() throws {
    let both = try Comparison { encoder, decoder in
      (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
    }
    try both.write(Snake(one: 1, two: 2, three: 3, four: 4))
    both.read(Snake.self, #"{"one_two":1,"my_url":3,"four":4}"#)
    both.read(Snake.self, #"{"one_two":1,"my_uRL":3,"Four":4}"#)
    both.read(Snake.self, #"{"oneTwo":1}"#)
  }

  @Test("Custom conversions of names are applied as by Foundation")
  func ownConversionsAreAlike() throws {
    let both = try Comparison { encoder, decoder in
      encoder.keyEncodingStrategy = .custom { path in
        Name("own." + (path.last?.stringValue ?? ""))
      }
      decoder.keyDecodingStrategy = .custom { path in
        Name(String(path.last?.stringValue.split(separator: ".").last ?? ""))
      }
    }
    struct Deep: Codable {
      var list: [Deep]?
      var map: [String: Deep]?
      var numbers: [Int: Deep]?
      var inner: ContainerComparisonTests.Inner?
    }
    let deep = Deep(inner: .init(number: 1, name: "x"))
    try both.write(Deep(list: [deep], map: ["a.b": deep], numbers: [3: deep], inner: .init(number: 2)))
    both.read(Deep.self, #"{"x.list":[{"y.inner":{"z.number":1}}],"map":{"a.b":{"q.inner":{"number":2}}}}"#)
    both.read(Deep.self, #"{"x.list":[{"y.inner":{"z.number":true}}]}"#)
    both.read(Deep.self, #"{"x.list":[{"y.inner":{}}]}"#)
    let constant = try Comparison { encoder, decoder in
      encoder.keyEncodingStrategy = .custom { _ in Name("same") }
      decoder.keyDecodingStrategy = .custom { _ in Name("number") }
    }
    try constant.write(ContainerComparisonTests.Inner(number: 1, name: "x"))
    try constant.write(ContainerComparisonTests.Inner(number: 1))
    constant.read(ContainerComparisonTests.Inner.self, #"{"a":1}"#)
  }

  @Test("User info is passed to values as by Foundation")
  func userInfoIsAlike() throws {
    let key = try #require(CodingUserInfoKey(rawValue: "prefix"))
    struct Prefixed: Codable {
      static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "prefix") }
      var text = "x"

      init() {}

      init(from decoder: any Decoder) throws {
        let prefix = Self.key.flatMap { decoder.userInfo[$0] as? String }
        text = "\(prefix ?? "") \(try decoder.singleValueContainer().decode(String.self))"
      }

      func encode(to encoder: any Encoder) throws {
        let prefix = Self.key.flatMap { encoder.userInfo[$0] as? String }
        var container = encoder.singleValueContainer()
        try container.encode("\(prefix ?? "none") \(encoder.userInfo.count) \(text)")
      }
    }
    let both = try Comparison { encoder, decoder in (encoder.userInfo[key], decoder.userInfo[key]) = ("E", "D") }
    try both.write([Prefixed()])
    try both.write(["a": ["b": Prefixed()]])
    both.read([Prefixed].self, #"["x"]"#)
    both.read([String: Prefixed].self, #"{"a":"x"}"#)
    try Comparison().write([Prefixed()])
    try Comparison().read([Prefixed].self, #"["x"]"#)
  }
}
