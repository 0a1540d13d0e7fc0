import Observation
import SharedState
import Testing

/// The places where a share may be declared: models, structures, actors, globals, local variables and closures.
@Suite("Places for a share", .timeLimit(.minutes(5)))
struct PlacesTests {
  @Observable
  final class Model {
    @ObservationIgnored @Shared(.inMemory("count")) var count = 0
    @ObservationIgnored @Shared var name: String

    init(name: Shared<String>) {
      _name = name
    }
  }

  private struct Structure {
    @Shared(.inMemory("count")) var count = 0
  }

  private actor Worker {
    @Shared(.inMemory("count")) var count = 0

    func increment() {
      $count.withLock { $0 += 1 }
    }
  }

  @MainActor
  private enum Settings {
    @Shared(.inMemory("count")) static var count = 0
  }

  @Test("An observable model notifies its observers of a change to a share")
  func observedModel() async {
    let model = Model(name: Shared(value: "Blob"))
    await confirmation { confirmation in
      withObservationTracking {
        _ = model.count
      } onChange: {
        confirmation()
      }
      model.$count.withLock { $0 += 1 }
    }
    model.$name.withLock { $0 += " Jr." }
    #expect(model.name == "Blob Jr.")
  }

  @Test("A model, a structure and an actor share one value")
  func sharedAcrossPlaces() async {
    let (model, structure, worker) = (Model(name: Shared(value: "")), Structure(), Worker())
    await worker.increment()
    #expect(model.count == 1)
    structure.$count.withLock { $0 += 1 }
    #expect(await worker.count == 2)
  }

  @MainActor
  @Test("A global constant and a static property of a global actor hold shares")
  func globalShares() {
    globalCount.withLock { $0 = 0 }
    globalCount.withLock { $0 += 1 }
    #expect(globalCount.wrappedValue == 1)
    Settings.$count.withLock { $0 = 2 }
    #expect(Settings.count == 2)
  }

  @Test("A share declared in a closure has the value of its key in every call")
  func shareInClosure() {
    let increment = {
      @Shared(.inMemory("count")) var count = 0
      $count.withLock { $0 += 1 }
    }
    increment()
    increment()
    #expect(Structure().count == 2)
  }
}

private let globalCount = Shared(wrappedValue: 0, .inMemory("global count"))
