import Foundation
import Testing

@testable import SharedStateDependencies

@Suite("Dependency", .timeLimit(.minutes(5)))
struct DependencyTests {
  @Test("A dependency remembers the values in force at its creation")
  func rememberedValues() {
    let model = withDependencies {
      $0.name = "captured"
    } operation: {
      Model()
    }
    #expect(model.name == "captured")
  }

  @Test("An override in force takes precedence over a remembered one")
  func overridePrecedence() {
    let model = withDependencies {
      $0.name = "captured"
      $0.counter = Counter()
    } operation: {
      Model()
    }
    let counter = model.counter
    withDependencies {
      $0.name = "present"
    } operation: {
      #expect(model.name == "present")
      #expect(model.counter === counter)
    }
  }

  @Test("A dependency remembers the context of its creation")
  func rememberedContext() {
    let model = withDependencies {
      $0.context = .live
    } operation: {
      Model()
    }
    #expect(model.name == "live")
    withDependencies {
      $0.context = .preview
    } operation: {
      #expect(model.name == "preview")
    }
  }

  @Test("A model keeps the defaults of its test in detached tasks and on threads")
  func detachedModel() async {
    let model = Model()
    let counter = DependencyValues.current.counter
    #expect(await Task.detached { model.counter }.value === counter)
    let onThread = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: model.counter) }
    }
    #expect(onThread === counter)
  }

  @Test("A model from another test reads the defaults of the current test")
  func foreignModel() async {
    let foreign = DependencyValues()
    let model = DependencyValues.withInForce(foreign) { Model() }
    #expect(model.counter === DependencyValues.current.counter)
    #expect(model.counter !== foreign.counter)
  }

  @Test("A dependency can be read as another type")
  func anotherType() {
    @Dependency(\.settings, as: (any Sendable & Equatable).self) var settings
    @Dependency(WallClock.self, as: (any Equatable).self) var clock
    withDependencies {
      $0.settings.volume = 3
      $0[WallClock.self].hour = 4
    } operation: {
      #expect(settings as? Settings == Settings(volume: 3))
      #expect(clock as? WallClock == WallClock(hour: 4))
    }
  }
}
