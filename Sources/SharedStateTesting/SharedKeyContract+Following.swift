import SharedState

extension SharedKeyContract {
  /// Promises about storage that another program uses as well.
  static var followingChecks: [Self] { loadingChecks + changeChecks }

  private static var loadingChecks: [Self] {
    [
      SharedKeyContract("a load hands over the stored value once") { scene in
        try await scene.outsider.write("a", scene.first)
        for context in [LoadContext.userInitiated, .initialValue(scene.initial)] {
          let loaded = try await scene.load(context: context)
          try scene.expect(loaded == scene.first, otherwise: "something else was loaded")
        }
      },

      SharedKeyContract("the first share has the stored value") { scene in
        let first = scene.first
        try await scene.outsider.write("a", first)
        let required = try await SharedReader(require: scene.key()).wrappedValue
        try scene.expect(required == first, otherwise: "a share that requires the value has another one")
        let reader = scene.reader()
        try await scene.wait("the value is not loaded") { reader.wrappedValue == first && !reader.isLoading }
        try scene.expect(reader.loadError == nil, otherwise: "the share has a load error")
      },

      SharedKeyContract("an explicit load has brought the stored value when it returns") { scene in
        let reader = scene.reader()
        for value in [scene.first, scene.second] {
          try await scene.outsider.write("a", value)
          try await reader.load()
          try scene.expect(reader.wrappedValue == value, otherwise: "the value is another one")
        }
      },

      SharedKeyContract("each request makes one load, and the context of the load names the request") { scene in
        let (initial, first, second) = (scene.initial, scene.first, scene.second)
        func expect(_ requests: [CountedKey<Key>.Request], _ key: CountedKey<Key>) throws {
          let made = key.requests.elements
          try scene.expect(made == requests, otherwise: "\(made) were made in the place of \(requests)")
        }
        try await scene.outsider.write("a", first)
        let key = CountedKey(base: scene.key())
        let reader = SharedReader(wrappedValue: initial, key)
        try await scene.wait("the value is not loaded") { reader.wrappedValue == first && !reader.isLoading }
        try expect([.first], key)
        try await reader.load()
        try expect([.first, .explicit], key)
        let required = CountedKey(base: scene.key())
        _ = try await SharedReader(require: required)
        try expect([.explicit], required)
        let other = CountedKey(base: scene.key())
        let changing = SharedReader(value: second)
        try await changing.load(other)
        try expect([.explicit], other)
        try scene.expect(changing.wrappedValue == first, otherwise: "the value of another key is not loaded")
      },

      SharedKeyContract("a share does not miss a change during its first load") { scene in
        let (first, second, outsider) = (scene.first, scene.second, try scene.outsider)
        for round in 0..<10 {
          let name = "round \(round)"
          try await outsider.write(name, first)
          async let change: Void = outsider.write(name, second)
          let reader = scene.reader(name)
          try await change
          try await scene.wait("the change is missed, and the old value stays") { reader.wrappedValue == second }
        }
      },

      SharedKeyContract("an unreadable document is an error, and the present value stays") { scene in
        let (first, second) = (scene.first, scene.second)
        let reader = scene.reader()
        try await scene.outsider.write("a", first)
        try await scene.wait("the value is not shown") { reader.wrappedValue == first }
        try await scene.outsider.damage("a")
        try await scene.expectError("an explicit load does not fail") { try await reader.load() }
        try scene.expect(reader.wrappedValue == first, otherwise: "the value has changed")
        try await scene.wait("the share has no load error") { reader.loadError != nil }
        try await scene.outsider.write("a", second)
        try await scene.wait("the value does not recover") { reader.wrappedValue == second && reader.loadError == nil }
      },
    ]
  }

  private static var changeChecks: [Self] {
    [
      SharedKeyContract("shares follow the changes of others") { scene in
        let readers = [scene.reader(), scene.reader()]
        for value in [scene.first, scene.second, scene.third] {
          try await scene.outsider.write("a", value)
          for reader in readers {
            try await scene.wait("a share does not follow") { reader.wrappedValue == value }
          }
        }
      },

      SharedKeyContract("shares return to the default when others remove the stored value") { scene in
        let (reader, initial, first) = (scene.reader(), scene.initial, scene.first)
        try await scene.outsider.write("a", first)
        try await scene.wait("the value is not shown") { reader.wrappedValue == first }
        try await scene.outsider.remove("a")
        try await scene.wait("the value stays") { reader.wrappedValue == initial }
        try await scene.outsider.write("a", first)
        try await scene.wait("the value that is back is not shown") { reader.wrappedValue == first }
        try await scene.outsider.remove("a")
        try await scene.wait("the value stays the second time") { reader.wrappedValue == initial }
      },

      SharedKeyContract("a share does not show a change of another state") { scene in
        let (reader, other) = (scene.reader(), scene.reader("b"))
        let (initial, first) = (scene.initial, scene.first)
        try await scene.outsider.write("b", first)
        try await scene.wait("the value is not shown where it belongs") { other.wrappedValue == first }
        try scene.expect(reader.wrappedValue == initial, otherwise: "the value is shown where it does not belong")
      },

      SharedKeyContract("a subscriber hears of each change once, in order") { scene in
        let (changes, subscription) = scene.subscribe()
        let values = [scene.first, scene.second, scene.third]
        // The first value may be reported twice: as the stored value when the subscription begins, and as a change.
        try await scene.outsider.write("a", values[2])
        try await scene.wait(changes, toHearOf: values[2])
        for (index, value) in values.enumerated() {
          try await scene.outsider.write("a", value)
          try await scene.wait("a change is not yielded to the subscriber") {
            try await changes.wait { $0.drop { $0 != values[0] }.count > index }
          }
        }
        let heard = changes.elements.drop { $0 != values[0] }
        try scene.expect(heard.elementsEqual(values), otherwise: "the subscriber has heard of something else")
        subscription.cancel()
      },

      SharedKeyContract("a subscriber hears of no change after its subscription was cancelled") { scene in
        let (first, second, third) = (scene.first, scene.second, scene.third)
        let (cancelled, live) = (scene.subscribe(), scene.subscribe())
        try await scene.outsider.write("a", first)
        try await scene.wait(cancelled.changes, toHearOf: first)
        cancelled.subscription.cancel()
        for value in [second, third] {
          try await scene.outsider.write("a", value)
          try await scene.wait(live.changes, toHearOf: value)
        }
        let heard = cancelled.changes.elements
        try scene.expect(!heard.contains(second) && !heard.contains(third), otherwise: "it has heard of a change")
        live.subscription.cancel()
      },
    ]
  }
}
