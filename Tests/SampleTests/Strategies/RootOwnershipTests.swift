import Foundation
import Observation
import SharedState
import Testing

/// The root of a program owns the state, and hands shares of it down.
@MainActor
@Suite(.timeLimit(.minutes(2))) struct RootOwnershipTests {
  fileprivate struct SyncUp: Codable, Equatable, Identifiable, Sendable {
    let id: Int
    var title: String
  }

  /// The owner: it loads and saves, and makes the models below.
  @MainActor
  @Observable
  final class App {
    @ObservationIgnored @Shared(.syncUps) fileprivate var syncUps
    fileprivate var detail: Detail?

    fileprivate var list: List { List(syncUps: $syncUps) }

    fileprivate func syncUpTapped(id: SyncUp.ID) {
      detail = Shared($syncUps[id: id]).map { Detail(syncUp: $0) }
    }
  }

  /// Has the whole collection, and does not know where it is kept.
  fileprivate struct List {
    @Shared var syncUps: IdentifiedArrayOf<SyncUp>

    func addButtonTapped(title: String) {
      $syncUps.withLock { $0.append(SyncUp(id: $0.count + 1, title: title)) }
    }
  }

  /// Has one element, and lends a copy to a form.
  @MainActor
  @Observable
  final class Detail {
    @ObservationIgnored @Shared fileprivate var syncUp: SyncUp
    fileprivate var form: Form?

    fileprivate init(syncUp: Shared<SyncUp>) {
      _syncUp = syncUp
    }

    // Copy: what is being edited is nobody's state yet.
    func editButtonTapped() {
      form = Form(syncUp: syncUp)
    }

    // Delegate: the copy becomes the state, for everybody at once.
    func doneEditingButtonTapped() {
      guard let form else { return }
      $syncUp.withLock { $0 = form.syncUp }
      self.form = nil
    }

    func cancelEditingButtonTapped() {
      form = nil
    }
  }

  fileprivate struct Form {
    var syncUp: SyncUp
  }

  @Test func parentAndChildReadAndWriteTheSameState() {
    let app = App()
    app.list.addButtonTapped(title: "Design")
    #expect(app.syncUps.map(\.title) == ["Design"])
    app.$syncUps.withLock { $0[id: 1]?.title = "Engineering" }
    #expect(app.list.syncUps[id: 1]?.title == "Engineering")
  }

  @Test func theOwnerReadsAndWritesTheFile() async throws {
    let first = App()
    first.list.addButtonTapped(title: "Design")
    try await first.$syncUps.save()
    @Shared(FileStorageKey.fileStorage(.syncUps, decode: { $0 }, encode: { $0 })) var file = Data()
    #expect(try JSONDecoder().decode([SyncUp].self, from: file) == [SyncUp(id: 1, title: "Design")])
    #expect(App().syncUps == first.syncUps)
  }

  @Test func aCopyIsEditedAndThenDelegated() throws {
    let app = App()
    app.list.addButtonTapped(title: "Design")
    app.syncUpTapped(id: 1)
    let detail = try #require(app.detail)
    detail.editButtonTapped()
    detail.form?.syncUp.title = "Engineering"
    #expect(app.syncUps[id: 1]?.title == "Design")
    detail.doneEditingButtonTapped()
    #expect(app.syncUps[id: 1]?.title == "Engineering")
  }

  @Test func aCopyIsEditedAndThrownAway() throws {
    let app = App()
    app.list.addButtonTapped(title: "Design")
    app.syncUpTapped(id: 1)
    let detail = try #require(app.detail)
    detail.editButtonTapped()
    detail.form?.syncUp.title = "Engineering"
    detail.cancelEditingButtonTapped()
    #expect(app.syncUps[id: 1]?.title == "Design")
  }

  @Test func theDetailFollowsItsElementWithoutAnyMessage() throws {
    let app = App()
    app.list.addButtonTapped(title: "Design")
    app.syncUpTapped(id: 1)
    let detail = try #require(app.detail)
    app.$syncUps.withLock { $0[id: 1]?.title = "Engineering" }
    #expect(detail.syncUp.title == "Engineering")
  }
}

extension SharedReaderKey where Self == FileStorageKey<IdentifiedArrayOf<RootOwnershipTests.SyncUp>>.Default {
  fileprivate static var syncUps: Self {
    Self[.fileStorage(.syncUps), default: []]
  }
}

extension URL {
  fileprivate static let syncUps = URL(filePath: "/samples/sync-ups.json")
}
