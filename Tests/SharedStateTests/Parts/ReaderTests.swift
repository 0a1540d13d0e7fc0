import SharedState
import Testing

@Suite("Readers and parts of shares", .timeLimit(.minutes(5)))
struct ReaderTests {
  struct Profile: Equatable {
    var name = "Blob"
    var nickname: String?
    var address = Address()
    var shout: String { name.uppercased() }
    var length: Int {
      get { name.count }
      set { name = String(repeating: "x", count: newValue) }
    }
  }

  struct Address: Equatable {
    var city = "Brooklyn"
  }

  @Shared(value: Profile()) var profile

  @Test("Readers made from shares, parts, readers and closures follow the value")
  func readerSources() {
    let readers = [
      SharedReader($profile.name),
      SharedReader(projectedValue: $profile.name),
      SharedReader(projectedValue: SharedReader($profile.name)),
      SharedReader($profile).name,
      $profile.read { $0.name },
      SharedReader($profile).read { $0.name },
    ]
    #expect(readers.allSatisfy { $0.wrappedValue == "Blob" })
    $profile.withLock { $0.name = "Blob Jr." }
    #expect(readers.allSatisfy { $0.wrappedValue == "Blob Jr." })
    #expect(SharedReader(value: 1) == SharedReader.constant(1))
  }

  @Test("A reader's closure is evaluated at each read")
  func reevaluatedClosure() {
    @SharedReader var greeting: String
    _greeting = $profile.read { "Hello, \($0.name)!" }
    #expect(greeting == "Hello, Blob!")
    $profile.withLock { $0.name = "Bob" }
    #expect(greeting == "Hello, Bob!")
    #expect($greeting.count.wrappedValue == 11)
    #expect($greeting.read { $0.count }.wrappedValue == 11)
  }

  @Test("A reader's closure can read the share that it is derived from")
  func closureReadingShare() {
    let nested = $profile.read { [$profile] in $0.name + $profile.wrappedValue.name }
    #expect(nested.wrappedValue == "BlobBlob")
  }

  @Test("A read-only part of a share is a reader")
  func readOnlyPart() {
    let shout: SharedReader<String> = $profile.shout
    #expect(shout.wrappedValue == "BLOB")
    $profile.withLock { $0.name = "Bob" }
    #expect(shout.wrappedValue == "BOB")
  }

  @Test("A computed part with a setter is writable")
  func computedPartsAreWritable() {
    let length: Shared<Int> = $profile.length
    length.withLock { $0 += 1 }
    #expect(profile.name == "xxxxx")
  }

  @Test("Shares and readers are derived from parts of parts")
  func partsOfParts() {
    let city = $profile.address.city
    city.withLock { $0 = "Berlin" }
    #expect(profile.address.city == "Berlin")
    let count = $profile.address.read { $0.city }.count
    #expect(count.wrappedValue == 6)
  }

  @Test("An optional part is read through a key path with optional chaining")
  func optionalChaining() {
    let nickname: Shared<String?> = $profile.nickname
    let length: SharedReader<Int?> = $profile[dynamicMember: \.nickname?.count]
    #expect(length.wrappedValue == nil)
    nickname.withLock { $0 = "B" }
    #expect(length.wrappedValue == 1)
    #expect(nickname.wrappedValue == "B")
  }

  @Test("A change to a part notifies observers of the whole and of other parts")
  func notifiedObservers() {
    let name = $profile.name
    let shout = $profile.shout
    let whole = ChangeCounter { [$profile] in _ = $profile.wrappedValue }
    let part = ChangeCounter { _ = shout.wrappedValue }
    name.withLock { $0 = "Bob" }
    #expect(whole.count == 1)
    #expect(part.count == 1)
  }

  @Test("A derived share keeps the value alive")
  func valueKeptAlive() {
    let city: Shared<String>
    do {
      let profile = Shared(value: Profile())
      city = profile.address.city
    }
    city.withLock { $0 += "!" }
    #expect(city.wrappedValue == "Brooklyn!")
  }

  @Test("Swapping a projection does not affect shares derived from it earlier")
  func partsAfterSwap() {
    let name = $profile.name
    let other = Shared(value: Profile(name: "Other"))
    $profile = other
    #expect(profile.name == "Other")
    #expect(name.wrappedValue == "Blob")
    #expect($profile.name.wrappedValue == "Other")
    $profile.withLock { $0.name = "Changed" }
    #expect(other.wrappedValue.name == "Changed")
  }

  @Test("Swapping a projection changes its copies and notifies their observers")
  func copiesAfterSwap() {
    let copy = $profile
    let changes = ChangeCounter { _ = copy.wrappedValue }
    $profile = Shared(value: Profile(name: "Other"))
    #expect(copy.wrappedValue.name == "Other")
    #expect(changes.count == 1)

    @SharedReader(value: 1) var number
    let copyOfReader = $number
    $number = SharedReader(value: 2)
    #expect(copyOfReader.wrappedValue == 2)
  }

  @Test("A reader keeps the old value when its share is swapped")
  func readerAfterSwap() {
    let reader = SharedReader($profile)
    $profile = Shared(value: Profile(name: "Other"))
    #expect(reader.wrappedValue.name == "Blob")
  }
}
