import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateTesting
import Synchronization
import Testing

/// Two releases of a service side by side on one server, for each way to change a type.
@Suite("The article on schema changes", .timeLimit(.minutes(5)))
struct SchemaChangesArticleTests {
  /// A service of one release: a share of the config, in a store of its own on the server.
  private func config<Value: Codable & Sendable>(_ server: InProcessRedis, _ value: Value) -> Shared<Value> {
    Shared(wrappedValue: value, .redis("checkout:config", store: .inProcess(server)))
  }

  // MARK: A field more

  enum AddedField {
    struct V1: Codable, Hashable, Sendable {
      var maximumItems = 10
    }

    struct V2: Codable, Hashable, Sendable {
      var maximumItems = 10
      var currency = "EUR"
      var note: String?
    }
  }

  @Test("An added field has its default in an old document and survives the old release's saves")
  func aFieldIsAdded() async throws {
    typealias V1 = AddedField.V1
    typealias V2 = AddedField.V2
    let server = InProcessRedis()
    @Shared(.redis("checkout:config", store: .inProcess(server))) var old = V1()
    @Shared(.redis("checkout:config", store: .inProcess(server))) var new = V2()

    $old.withLock { $0.maximumItems = 20 }
    try await $old.save()
    try await $new.load()
    #expect(new == V2(maximumItems: 20, currency: "EUR"))

    $new.withLock { $0.currency = "CHF" }
    try await $new.save()
    try await $old.load()
    $old.withLock { $0.maximumItems = 30 }
    try await $old.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":30,"currency":"CHF"}"#)
  }

  @Test("A field missing from the document gets its default, which a save does not write")
  func missingField() async throws {
    let server = InProcessRedis()
    let stored = #"{"maximumItems":20}"#
    server.set("checkout:config", stored)
    let new = config(server, AddedField.V2(currency: "USD", note: "by default"))
    try await new.load()
    #expect(new.wrappedValue == AddedField.V2(maximumItems: 20, currency: "USD", note: nil))
    try await new.save()
    #expect(server.get("checkout:config") == stored)
    // With another default the value differs, as long as nobody has set the field.
    let other = config(server, AddedField.V2(currency: "CHF"))
    try await other.load()
    #expect(other.wrappedValue.currency == "CHF")
    #expect(new.wrappedValue.currency == "USD")
  }

  // MARK: Another name

  enum RenamedInSwift {
    struct V2: Codable, Hashable, Sendable {
      var itemLimit = 10

      private enum CodingKeys: String, CodingKey {
        case itemLimit = "maximumItems"
      }
    }
  }

  @Test("A renamed property with a coding key keeps its field of the document")
  func renamedWithCodingKey() async throws {
    let server = InProcessRedis()
    let (old, new) = (config(server, AddedField.V1()), config(server, RenamedInSwift.V2()))
    old.withLock { $0.maximumItems = 20 }
    try await old.save()
    try await new.load()
    #expect(new.wrappedValue.itemLimit == 20)
    new.withLock { $0.itemLimit = 30 }
    try await new.save()
    try await old.load()
    #expect(old.wrappedValue.maximumItems == 30)
    #expect(server.get("checkout:config") == #"{"maximumItems":30}"#)
  }

  enum RenamedCarelessly {
    struct V2: Codable, Hashable, Sendable {
      var itemLimit = 10
    }
  }

  @Test("A renamed property without a coding key is a new field, and the old one stays in the document")
  func renamedWithoutCodingKey() async throws {
    let server = InProcessRedis()
    server.set("checkout:config", #"{"maximumItems":20}"#)
    let new = config(server, RenamedCarelessly.V2())
    try await new.load()
    #expect(new.wrappedValue.itemLimit == 10)
    #expect(new.loadError == nil)
    new.withLock { $0.itemLimit = 30 }
    try await new.save()
    #expect(server.get("checkout:config") == #"{"itemLimit":30,"maximumItems":20}"#)
  }

  enum RenamedField {
    struct V2: Codable, Sendable {
      var itemLimit = 10

      private enum CodingKeys: CodingKey {
        case maximumItems, itemLimit
      }

      init() {}

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        itemLimit =
          try container.decodeIfPresent(Int.self, forKey: .maximumItems)
          ?? container.decode(Int.self, forKey: .itemLimit)
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(itemLimit, forKey: .maximumItems)
        try container.encode(itemLimit, forKey: .itemLimit)
      }
    }

    struct V3: Codable, Sendable {
      var itemLimit = 10

      private enum CodingKeys: CodingKey {
        case maximumItems, itemLimit
      }

      init() {}

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        itemLimit = try container.decode(Int.self, forKey: .itemLimit)
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(itemLimit, forKey: .maximumItems)
        try container.encode(itemLimit, forKey: .itemLimit)
      }
    }

    struct V4: Codable, Sendable {
      var itemLimit = 10
    }

    struct Names: Codable, Sendable {
      var maximumItems: Int?
      var itemLimit: Int?
    }
  }

  @Test("A field is renamed in steps while adjacent releases exchange its value")
  func aFieldIsRenamed() async throws {
    let server = InProcessRedis()
    let (first, second) = (config(server, AddedField.V1()), config(server, RenamedField.V2()))
    first.withLock { $0.maximumItems = 20 }
    try await first.save()
    try await second.load()
    #expect(second.wrappedValue.itemLimit == 20)
    second.withLock { $0.itemLimit = 30 }
    try await second.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":30,"itemLimit":30}"#)
    try await first.load()
    #expect(first.wrappedValue.maximumItems == 30)

    // A release that reads the new name first misses this change.
    first.withLock { $0.maximumItems = 40 }
    try await first.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":40,"itemLimit":30}"#)
    try await second.load()
    #expect(second.wrappedValue.itemLimit == 40)

    typealias Names = RenamedField.Names
    let migration = RedisStore.inProcess(server)
    @Shared(.redis("checkout:config", store: migration)) var names = Names()
    try await $names.updateAtomically { $0.itemLimit = $0.maximumItems }
    #expect(server.get("checkout:config") == #"{"maximumItems":40,"itemLimit":40}"#)

    let third = config(server, RenamedField.V3())
    try await third.load()
    #expect(third.wrappedValue.itemLimit == 40)
    third.withLock { $0.itemLimit = 50 }
    try await third.save()
    try await second.load()
    #expect(second.wrappedValue.itemLimit == 50)
    second.withLock { $0.itemLimit = 60 }
    try await second.save()
    try await third.load()
    #expect(third.wrappedValue.itemLimit == 60)

    let fourth = config(server, RenamedField.V4())
    try await fourth.load()
    fourth.withLock { $0.itemLimit = 70 }
    try await fourth.save()
    try await third.load()
    #expect(third.wrappedValue.itemLimit == 70)
    try await $names.updateAtomically { $0.maximumItems = nil }
    #expect(server.get("checkout:config") == #"{"itemLimit":70}"#)
  }

  // MARK: A field less

  enum RemovedField {
    struct V1: Codable, Hashable, Sendable {
      var maximumItems = 10
      var currency = "EUR"
    }

    struct V2: Codable, Hashable, Sendable {
      var maximumItems = 10
    }
  }

  @Test("A removed field stays in the document, and has its default for the old release in a new one")
  func aFieldIsRemoved() async throws {
    let server = InProcessRedis()
    let (old, new) = (config(server, RemovedField.V1()), config(server, RemovedField.V2()))
    old.withLock { $0.currency = "CHF" }
    try await old.save()
    try await new.load()
    new.withLock { $0.maximumItems = 20 }
    try await new.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":20,"currency":"CHF"}"#)
    try await old.load()
    #expect(old.wrappedValue == RemovedField.V1(maximumItems: 20, currency: "CHF"))

    // A document that the new release creates has no such field.
    try await new.reset()
    new.withLock { $0.maximumItems = 30 }
    try await new.save()
    #expect(server.get("checkout:config") == #"{"maximumItems":30}"#)
    try await old.load()
    #expect(old.wrappedValue == RemovedField.V1(maximumItems: 30, currency: "EUR"))
    #expect(old.loadError == nil)
  }

  enum RemovedFromElements {
    struct V1: Codable, Identifiable, Sendable {
      var id: Int
      var title = ""
      var price = 1
    }

    struct V2: Codable, Identifiable, Sendable {
      var id: Int
      var title = ""
    }
  }

  @Test("The old release cannot load an element that lacks the removed field")
  func removedElementField() async throws {
    let server = InProcessRedis()
    let old = config(server, [RemovedFromElements.V1(id: 1, title: "Tea")])
    let new = config(server, [RemovedFromElements.V2]())
    try await old.save()
    try await new.load()
    new.withLock { $0[0].title = "Green tea" }
    try await new.save()
    try await old.load()
    #expect(old.wrappedValue.map(\.price) == [1])
    new.withLock { $0.append(RemovedFromElements.V2(id: 2, title: "Coffee")) }
    try await new.save()
    let error = await #expect(throws: RedisSharedStateError.self) { try await old.load() }
    #expect(error?.description.contains("[1].price: expected a value, found nothing") == true)
    #expect(old.wrappedValue.map(\.title) == ["Green tea"])
  }

  // MARK: Another type

  enum ChangedType {
    struct V1: Codable, Hashable, Sendable {
      var timeout = 5
      var maximumItems = 10
    }

    struct V2: Codable, Hashable, Sendable {
      var timeout = Timeout(seconds: 5)
      var maximumItems = 10

      struct Timeout: Codable, Hashable, Sendable {
        var seconds: Int
        var attempts = 3

        private enum CodingKeys: CodingKey {
          case seconds, attempts
        }

        init(seconds: Int, attempts: Int = 3) {
          (self.seconds, self.attempts) = (seconds, attempts)
        }

        init(from decoder: any Decoder) throws {
          if let seconds = try? decoder.singleValueContainer().decode(Int.self) {
            self.seconds = seconds
            return
          }
          let container = try decoder.container(keyedBy: CodingKeys.self)
          seconds = try container.decode(Int.self, forKey: .seconds)
          attempts = try container.decode(Int.self, forKey: .attempts)
        }

        // Version 3 is the same without this.
        func encode(to encoder: any Encoder) throws {
          var container = encoder.singleValueContainer()
          try container.encode(seconds)
        }
      }
    }

    struct V3: Codable, Hashable, Sendable {
      var timeout = Timeout(seconds: 5)
      var maximumItems = 10

      struct Timeout: Codable, Hashable, Sendable {
        var seconds: Int
        var attempts = 3

        init(seconds: Int, attempts: Int = 3) {
          (self.seconds, self.attempts) = (seconds, attempts)
        }

        init(from decoder: any Decoder) throws {
          if let seconds = try? decoder.singleValueContainer().decode(Int.self) {
            self.seconds = seconds
            return
          }
          let container = try decoder.container(keyedBy: CodingKeys.self)
          seconds = try container.decode(Int.self, forKey: .seconds)
          attempts = try container.decode(Int.self, forKey: .attempts)
        }
      }
    }
  }

  @Test("A field changes its type in steps, and adjacent releases read each other's form")
  func changedFieldType() async throws {
    let server = InProcessRedis()
    let (first, second) = (config(server, ChangedType.V1()), config(server, ChangedType.V2()))
    first.withLock { $0.timeout = 7 }
    try await first.save()
    try await second.load()
    #expect(second.wrappedValue.timeout == .init(seconds: 7))
    second.withLock { $0.timeout.seconds = 8 }
    try await second.save()
    #expect(server.get("checkout:config") == #"{"timeout":8,"maximumItems":10}"#)
    try await first.load()
    #expect(first.wrappedValue.timeout == 8)

    let third = config(server, ChangedType.V3())
    try await third.load()
    #expect(third.wrappedValue.timeout == .init(seconds: 8))
    third.withLock { $0.maximumItems = 20 }
    try await third.save()
    #expect(server.get("checkout:config") == #"{"timeout":8,"maximumItems":20}"#)
    third.withLock { $0.timeout.attempts = 4 }
    try await third.save()
    let object = #""timeout":{"seconds":8,"attempts":4}"#
    #expect(server.get("checkout:config") == #"{\#(object),"maximumItems":20}"#)

    // The second release reads the new form, and leaves it alone unless it changes the field.
    try await second.load()
    #expect(second.wrappedValue.timeout == .init(seconds: 8, attempts: 4))
    second.withLock { $0.maximumItems = 30 }
    try await second.save()
    #expect(server.get("checkout:config") == #"{\#(object),"maximumItems":30}"#)
    second.withLock { $0.timeout.seconds = 9 }
    try await second.save()
    #expect(server.get("checkout:config") == #"{"timeout":9,"maximumItems":30}"#)
    try await third.load()
    #expect(third.wrappedValue.timeout == .init(seconds: 9, attempts: 3))

    // The first release cannot read it.
    third.withLock { $0.timeout.attempts = 4 }
    try await third.save()
    let error = await #expect(throws: RedisSharedStateError.self) { try await first.load() }
    #expect(error?.description.contains("timeout: expected Int, found an object") == true)
  }

  // MARK: A case more

  enum AddedCase {
    struct V1: Codable, Hashable, Sendable {
      enum Delivery: String, Codable, Sendable { case standard, express }

      var delivery = Delivery.standard
      var maximumItems = 10
    }

    struct V2: Codable, Hashable, Sendable {
      enum Delivery: String, Codable, Sendable { case standard, express, drone }

      var delivery = Delivery.standard
      var maximumItems = 10
    }
  }

  @Test("The old release cannot load an added case, and keeps its change pending until the case is replaced")
  func aCaseIsAdded() async throws {
    let server = InProcessRedis()
    let (old, new) = (config(server, AddedCase.V1()), config(server, AddedCase.V2()))
    try await new.load()
    new.withLock { $0.maximumItems = 20 }
    try await new.save()
    try await old.load()
    new.withLock { $0.delivery = .drone }
    try await new.save()
    await #expect(throws: RedisSharedStateError.self) { try await old.load() }
    #expect(old.wrappedValue == AddedCase.V1(delivery: .standard, maximumItems: 20))

    // The old release keeps its change until it can read the stored document.
    old.withLock { $0.maximumItems = 30 }
    await #expect(throws: RedisSharedStateError.self) { try await old.save() }
    #expect(server.get("checkout:config") == #"{"delivery":"drone","maximumItems":20}"#)
    new.withLock { $0.delivery = .express }
    try await new.save()
    try await eventually("both releases have the change of the old one") {
      old.wrappedValue == AddedCase.V1(delivery: .express, maximumItems: 30)
        && new.wrappedValue == AddedCase.V2(delivery: .express, maximumItems: 30)
    }
  }

  @Test("With the option, the old release shows the rest of a document with an added case, and keeps the case stored")
  func aCaseIsAddedToAPartlyReadDocument() async throws {
    typealias V1 = AddedCase.V1
    typealias V2 = AddedCase.V2
    let server = InProcessRedis()
    @Shared(.redis("checkout:config", store: .inProcess(server), options: .init(unreadableMembers: .keepLast)))
    var old = V1()
    let new = config(server, V2())
    try await new.load()
    new.withLock { $0.delivery = .express }
    try await new.save()
    try await $old.load()
    new.withLock { $0 = V2(delivery: .drone, maximumItems: 20) }
    try await new.save()
    try await $old.load()
    #expect(old == V1(delivery: .express, maximumItems: 20))
    #expect(($old.loadError as? RedisSharedStateError)?.unreadableMembers == ["delivery"])
    $old.withLock { $0.maximumItems = 30 }
    try await $old.save()
    #expect(server.get("checkout:config") == #"{"delivery":"drone","maximumItems":30}"#)
    $old.withLock { $0.delivery = .standard }
    try await $old.save()
    #expect(server.get("checkout:config") == #"{"delivery":"standard","maximumItems":30}"#)
  }

  // MARK: The log of the old release

  /// The log of one service, a line for each entry.
  private final class Log: Sendable {
    private let state = Mutex<[String]>([])

    private struct Handler: LogHandler {
      let log: Log
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.info

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) {
        let words = ["members", "unknown", "error"].map { event.metadata?[$0] }.compactMap { $0?.description }
        log.state.withLock { $0.append("\(event.level) \(event.message) \(words.joined(separator: " "))") }
      }
    }

    var logger: Logger { Logger(label: "old") { _ in Handler(log: self) } }

    /// The entries about stored values.
    var lines: [String] {
      state.withLock { $0 }.filter { $0.contains("stored value") }
    }
  }

  /// What a service with an old type logs when a new release stores a document.
  private func log<Value: Codable & Sendable>(
    _ value: Value,
    _ options: RedisSharedKey<Value>.Options = .init(),
    after document: String
  ) async throws -> String {
    let (server, log) = (InProcessRedis(), Log())
    let old = Shared(
      wrappedValue: value,
      .redis("checkout:config", store: .inProcess(server, logger: log.logger), options: options)
    )
    server.set("checkout:config", String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
    try await old.load()
    server.set("checkout:config", document)
    // A document that cannot be read fails the load.
    try? await old.load()
    try await eventually("it is logged") { !log.lines.isEmpty }
    _ = old.loadError
    return log.lines.joined(separator: "\n")
  }

  @Test("The old release logs what it cannot read, and what it completes")
  func logOfTheOldRelease() async throws {
    let completed = "info The stored value lacks members that this service requires. They have their default values."
    let unreadable = "error The stored value cannot be read. The last good value stays, and local changes wait."
    let inPart =
      "error Members of the stored value cannot be read. Their last or default values are shown, and they stay stored."
    let renamed = try await log(RemovedField.V1(), after: #"{"itemLimit":20,"currency":"CHF"}"#)
    #expect(
      renamed
        == "warning The stored value lacks members that it had, and has unknown ones. Were they renamed? "
        + "They have their default values. maximumItems itemLimit"
    )
    let retyped = try await log(ChangedType.V1(), after: #"{"timeout":{"seconds":8,"attempts":4},"maximumItems":10}"#)
    #expect(retyped.hasPrefix(unreadable) && retyped.contains("timeout: expected Int, found an object"))
    let removed = try await log(RemovedField.V1(), after: #"{"maximumItems":30}"#)
    #expect(removed == "\(completed) currency")
    let document = #"{"delivery":"drone","maximumItems":20}"#
    let added = try await log(AddedCase.V1(), after: document)
    #expect(
      added.hasPrefix(unreadable) && added.contains("delivery: expected a case of Delivery, found another string")
    )
    let partly = try await log(AddedCase.V1(), .init(unreadableMembers: .keepLast), after: document)
    #expect(partly.hasPrefix("\(inPart) delivery"))
  }

  // MARK: A case less

  enum RemovedCase {
    struct V2: Codable, Hashable, Sendable {
      enum Delivery: String, Codable, Sendable { case standard }

      var delivery = Delivery.standard
      var maximumItems = 10
    }
  }

  @Test("The new release cannot load a removed case until the old release replaces it")
  func aCaseIsRemoved() async throws {
    let server = InProcessRedis()
    let (config, new) = (config(server, AddedCase.V1()), config(server, RemovedCase.V2()))
    config.withLock { $0.delivery = .express }
    try await config.save()
    await #expect(throws: RedisSharedStateError.self) { try await new.load() }

    try await config.updateAtomically { config in
      if config.delivery == .express { config.delivery = .standard }
    }
    try await new.load()
    #expect(new.wrappedValue == RemovedCase.V2())
  }

  enum AddedElement {
    enum V1 {
      enum Flag: String, SkippedWhenUnknown { case search, express }
    }

    enum V2 {
      enum Flag: String, SkippedWhenUnknown { case search, express, drone }
    }
  }

  @Test("An element whose case is unknown to the old release survives that release's saves")
  func addedElementCase() async throws {
    typealias V1 = Set<AddedElement.V1.Flag>
    typealias V2 = Set<AddedElement.V2.Flag>
    let server = InProcessRedis()
    let (old, new) = (config(server, V1()), config(server, V2()))
    old.withLock { $0 = [.search, .express] }
    try await old.save()
    #expect(server.get("checkout:config") == #"["express","search"]"#)
    try await new.load()
    new.withLock { $0 = [.drone, .express] }
    try await new.save()
    #expect(server.get("checkout:config") == #"["drone","express"]"#)
    try await old.load()
    #expect(old.wrappedValue == [.express])
    old.withLock { $0 = [.search] }
    try await old.save()
    #expect(server.get("checkout:config") == #"["drone","search"]"#)
    try await new.load()
    #expect(new.wrappedValue == [.drone, .search])
  }

  enum PreparedCase {
    struct V1: Codable, Hashable, Sendable {
      enum Delivery: String, Codable, Sendable {
        case standard, express

        init(from decoder: any Decoder) throws {
          let name = try decoder.singleValueContainer().decode(String.self)
          self = Self(rawValue: name) ?? .standard
        }
      }

      var delivery = Delivery.standard
      var maximumItems = 10
    }

    struct Delivery: RawRepresentable, Codable, Hashable, Sendable {
      static let standard = Self(rawValue: "standard")
      static let express = Self(rawValue: "express")

      let rawValue: String
    }

    struct Open: Codable, Hashable, Sendable {
      var delivery = Delivery.standard
      var maximumItems = 10
    }
  }

  @Test("A release that reads an unknown case as its default preserves the case until it sets the field")
  func preservedCase() async throws {
    let server = InProcessRedis()
    let (old, new) = (config(server, PreparedCase.V1()), config(server, AddedCase.V2()))
    let open = config(server, PreparedCase.Open())
    new.withLock { $0.delivery = .drone }
    try await new.save()
    try await old.load()
    #expect(old.wrappedValue.delivery == .standard)
    old.withLock { $0.maximumItems = 20 }
    try await old.save()
    #expect(server.get("checkout:config") == #"{"delivery":"drone","maximumItems":20}"#)
    try await open.load()
    #expect(open.wrappedValue.delivery.rawValue == "drone")
    // It overwrites the case when it sets the field itself.
    old.withLock { $0.delivery = .express }
    try await old.save()
    try await new.load()
    #expect(new.wrappedValue.delivery == .express)
  }

  // MARK: Elements

  enum AddedToElements {
    struct V1: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var title = ""
    }

    struct Careless: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var title = ""
      var weight = 1
    }

    struct V2: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var title = ""
      var weight = 1

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(Int.self, forKey: .id)
        title = try container.decode(String.self, forKey: .title)
        weight = try container.decodeIfPresent(Int.self, forKey: .weight) ?? 1
      }
    }
  }

  @Test("A field added to elements gets its default from the decoder and survives the old release's saves")
  func addedElementField() async throws {
    typealias V1 = AddedToElements.V1
    typealias V2 = AddedToElements.V2
    let server = InProcessRedis()
    let (old, new) = (config(server, [V1]()), config(server, [V2]()))
    old.withLock { $0 = [V1(id: 1, title: "Tea"), V1(id: 2, title: "Coffee")] }
    try await old.save()
    let careless = config(server, [AddedToElements.Careless]())
    let error = await #expect(throws: RedisSharedStateError.self) { try await careless.load() }
    #expect(error?.description.contains("[0].weight: expected a value, found nothing") == true)

    try await new.load()
    #expect(new.wrappedValue.map(\.weight) == [1, 1])
    new.withLock { $0[0].weight = 5 }
    new.withLock { $0[1].title = "Espresso" }
    try await new.save()
    try await old.load()
    old.withLock { $0[0].title = "Green tea" }
    try await old.save()
    #expect(
      server.get("checkout:config")
        == #"[{"id":1,"title":"Green tea","weight":5},{"id":2,"title":"Espresso"}]"#
    )
  }

  enum Unidentified {
    struct V1: Codable, Hashable, Sendable {
      var title = ""
    }

    struct V2: Codable, Hashable, Sendable {
      var title = ""
      var weight: Int?
    }
  }

  @Test("Elements without identities lose the fields that are unknown to the release that saves")
  func unidentifiedElements() async throws {
    let server = InProcessRedis()
    let old = config(server, [Unidentified.V1]())
    let new = config(server, [Unidentified.V2(title: "Tea", weight: 5)])
    try await new.save()
    try await old.load()
    old.withLock { $0[0].title = "Green tea" }
    try await old.save()
    #expect(server.get("checkout:config") == #"[{"title":"Green tea"}]"#)
  }

  // MARK: Stricter rules

  private struct Invalid: Error {
    init(_ reason: String) {}
  }

  @Test("A stricter rule rejects the stored value, and a change stays pending until that value is corrected")
  func aRuleIsStricter() async throws {
    typealias V1 = AddedField.V1
    let server = InProcessRedis()
    let store = RedisStore.inProcess(server)
    let old = config(server, V1())
    old.withLock { $0.maximumItems = 500 }
    try await old.save()

    @Shared(
      .redis(
        "checkout:config",
        store: store,
        validate: { @Sendable config in
          guard config.maximumItems <= 100 else { throw Invalid("maximumItems may be 100 at the most") }
        }
      )
    )
    var config = V1()
    await #expect(throws: RedisSharedStateError.self) { try await $config.load() }
    #expect(config.maximumItems == 10)
    $config.withLock { $0.maximumItems = 50 }
    await #expect(throws: RedisSharedStateError.self) { try await $config.save() }
    #expect(server.get("checkout:config") == #"{"maximumItems":500}"#)

    // The stored value has to be right before the rule comes. The change that has waited is the later one.
    old.withLock { $0.maximumItems = 90 }
    try await old.save()
    try await eventually("the delayed change is delivered") { old.wrappedValue.maximumItems == 50 }
    try await eventually("no error is left") { [$config] in $config.loadError == nil && $config.saveError == nil }
  }
}
