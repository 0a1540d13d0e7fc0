import Observation
import SharedState
import Testing

@Suite("The article on initialisation rules", .timeLimit(.minutes(5)))
struct InitializationArticleTests {
  struct Toolbar {
    @Shared var zoom: Double

    init(zoom: Shared<Double>) {
      _zoom = zoom
    }
  }

  struct Window {
    @Shared var zoom: Double

    init(zoom: Double) {
      _zoom = Shared(value: zoom)
    }
  }

  struct Preferences {
    @Shared var zoom: Double

    init(zoom: @autoclosure () -> Double) {
      _zoom = Shared(wrappedValue: zoom(), .appStorage("zoom"))
    }
  }

  @Observable
  final class EditorModel {
    @ObservationIgnored @Shared var zoom: Double

    init(zoom: Shared<Double>) {
      _zoom = zoom
    }
  }

  @Test("An initialiser takes a share, or makes one from a plain value or a key")
  func sharesComeFromInitialisers() async throws {
    let window = Window(zoom: 1)
    let toolbar = Toolbar(zoom: window.$zoom)
    let model = EditorModel(zoom: window.$zoom)
    toolbar.$zoom.withLock { $0 = 1.5 }
    #expect(window.zoom == 1.5)
    #expect(model.zoom == 1.5)

    await #expect(throws: NothingStoredError.self) {
      try await Shared<Double>(require: .appStorage("zoom"))
    }
    let preferences = Preferences(zoom: 3)
    preferences.$zoom.withLock { $0 = 4 }
    let zoom = try await Shared(require: .appStorage("zoom")) as Shared<Double>
    #expect(zoom.wrappedValue == 4)
  }

  @Test("A share to which another one is assigned points to that one, and so do its copies")
  func assignedShare() {
    @Shared(value: 1.0) var zoom: Double
    let other = $zoom
    $zoom = Shared(value: 2)
    #expect(zoom == 2)
    #expect(other.wrappedValue == 2)
  }
}
