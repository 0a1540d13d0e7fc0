import SharedState

extension SharedKeyContract where Key: SharedKey {
  /// Promises about changes made through shares.
  static var savingChecks: [Self] { singleSaveChecks + manySavesChecks }

  private static var singleSaveChecks: [Self] {
    [
      SharedKeyContract("a save has one answer, and a load returns the saved value") { scene in
        for (value, context) in [(scene.first, SaveContext.userInitiated), (scene.second, .didSet)] {
          let call = KeyCall<Void>()
          scene.key().save(value, context: context, continuation: call.saveContinuation())
          try await scene.outcome(of: call, "save")
          let loaded = try await scene.load()
          try scene.expect(loaded == value, otherwise: "something else is loaded")
        }
      },

      SharedKeyContract("an explicit save has stored the change when it returns") { scene in
        let (share, first) = (scene.share(), scene.first)
        share.withLock { $0 = first }
        try await share.save()
        let loaded = try await scene.load()
        try scene.expect(loaded == first, otherwise: "something else is loaded")
        try await scene.wait("the share has a save error") { share.saveError == nil }
        let required = try await Shared(require: scene.key()).wrappedValue
        try scene.expect(required == first, otherwise: "a share that requires the value has another one")
      },

      SharedKeyContract("a key stores a change even if nobody holds a share any more") { scene in
        let first = scene.first
        scene.share().withLock { $0 = first }
        try await scene.poll("the change is not loaded") { try await scene.load() == first }
        let reader = scene.reader()
        try await scene.wait("a later share does not have the change") { reader.wrappedValue == first }
      },

      SharedKeyContract("shares of equal keys have one value") { scene in
        let (share, same, first) = (scene.share(), scene.share(), scene.first)
        share.withLock { $0 = first }
        try scene.expect(same.wrappedValue == first, otherwise: "the other share does not have the change immediately")
      },

      SharedKeyContract("a key stores each state by itself") { scene in
        let (share, other) = (scene.share(), scene.share("b"))
        let (initial, first, second) = (scene.initial, scene.first, scene.second)
        share.withLock { $0 = first }
        try await share.save()
        try scene.expect(other.wrappedValue == initial, otherwise: "a change is shown where it does not belong")
        other.withLock { $0 = second }
        try await other.save()
        let (loaded, otherLoaded) = (try await scene.load(), try await scene.load("b"))
        try scene.expect(loaded == first && otherLoaded == second, otherwise: "something else is loaded")
      },
    ]
  }

  private static var manySavesChecks: [Self] {
    [
      SharedKeyContract("a key stores the newest of many changes") { scene in
        let share = scene.share()
        let values = [scene.first, scene.second, scene.third]
        for length in 1...30 {
          for index in 0..<length { share.withLock { $0 = values[index % 3] } }
          try await share.save()
          let loaded = try await scene.load()
          try scene.expect(loaded == values[(length - 1) % 3], otherwise: "an older one is loaded")
        }
      },

      SharedKeyContract("a saved value never comes back over a newer change") { scene in
        let share = scene.share()
        let values = [scene.first, scene.second, scene.third]
        share.withLock { $0 = values[2] }
        for round in 0..<300 {
          let hasStayed = share.withLock { value in
            defer { value = values[round % 3] }
            return value == values[(round + 2) % 3]
          }
          try scene.expect(hasStayed, otherwise: "the value has changed by itself")
          if round % 50 == 49 { try await share.save() } else { await Task.yield() }
        }
      },

      SharedKeyContract("a key stores the value that shares show after changes by several tasks") { scene in
        let share = scene.share()
        let values = [scene.first, scene.second, scene.third]
        await withTaskGroup { group in
          for task in 0..<4 {
            group.addTask {
              for index in 0..<25 { share.withLock { $0 = values[(task + index) % 3] } }
            }
          }
        }
        try await share.save()
        let loaded = try await scene.load()
        try scene.expect(loaded == share.wrappedValue, otherwise: "something else is loaded")
      },
    ]
  }

  /// Promises about changes made both through shares and by another program.
  static var exchangeChecks: [Self] {
    [
      SharedKeyContract("others see the saved value") { scene in
        let share = scene.share()
        for value in [scene.first, scene.second] {
          share.withLock { $0 = value }
          try await share.save()
          let stored = try await scene.outsider.read("a")
          try scene.expect(stored == value, otherwise: "they see something else")
        }
      },

      SharedKeyContract("a value that was stored before the first use is not the default") { scene in
        let (initial, first) = (scene.initial, scene.first)
        for name in ["a", "b"] { try await scene.outsider.write(name, first) }
        let (share, other) = (scene.share(), scene.share("b"))
        try await scene.wait("the value is not loaded") { share.wrappedValue == first && other.wrappedValue == first }
        try await share.reset()
        try scene.expect(share.wrappedValue == initial, otherwise: "a reset does not lead to the default")
        let loaded = try await scene.load()
        try scene.expect(loaded == nil || loaded == initial, otherwise: "a reset leaves it stored")
        try await scene.outsider.remove("b")
        try await scene.wait("a removal does not lead to the default") { other.wrappedValue == initial }
      },

      SharedKeyContract("a save that replaces an unreadable document ends all errors") { scene in
        let (share, first, second) = (scene.share(), scene.first, scene.second)
        try await scene.outsider.write("a", first)
        try await scene.wait("the value is not shown") { share.wrappedValue == first }
        try await scene.outsider.damage("a")
        try await scene.expectError("an explicit load does not fail") { try await share.load() }
        try await scene.wait("the share has no load error") { share.loadError != nil }
        share.withLock { $0 = second }
        // A key may replace unreadable data, or leave it alone.
        try? await share.save()
        try await share.save(replacingUnreadable: true)
        try await scene.wait("an error stays") { share.loadError == nil && share.saveError == nil && !share.isLoading }
        let stored = try await scene.outsider.read("a")
        try scene.expect(stored == second, otherwise: "others see something else")
      },

      SharedKeyContract("the last change wins, whoever makes it") { scene in
        let (share, other) = (scene.share(), scene.reader())
        let (first, second, third) = (scene.first, scene.second, scene.third)
        for _ in 0..<3 {
          share.withLock { $0 = first }
          try await share.save()
          try await scene.outsider.write("a", second)
          try await scene.wait("the share does not follow") { share.wrappedValue == second }
          share.withLock { $0 = third }
          try await share.save()
          let stored = try await scene.outsider.read("a")
          try scene.expect(stored == third, otherwise: "others see something else")
          try scene.expect(other.wrappedValue == third, otherwise: "the value has changed back")
        }
      },
    ]
  }
}

extension SharedKeyContract.Scene where Key: SharedKey {
  /// A share of the state, with the first of the values as its default.
  fileprivate func share(_ name: String = "a") -> Shared<Value> {
    Shared(wrappedValue: initial, key(name))
  }
}
