import SharedStateDependencies
import SharedStateDependenciesMacros
import SharedStateTesting
import Testing

// The samples of the article.

@DependencyClient
struct WeatherClient: Sendable {
  var temperature: @Sendable (_ city: String) async throws -> Double
  var cities: @Sendable () -> [String] = { [] }
}

extension DependencyValues {
  @DependencyEntry(liveValue: WeatherClient.live) var weather = WeatherClient()
}

extension WeatherClient {
  static let live = WeatherClient(temperature: { _ in 0 }, cities: { ["Oslo"] })
}

@Suite("Samples of the macros of dependencies", .timeLimit(.minutes(5)))
struct WeatherClientTests {
  @Test("A city is warm from 20 degrees on")
  func warm() async throws {
    try await withDependencies {
      $0.weather.temperature = { city in city == "Lisbon" ? 24 : 12 }
    } operation: {
      @Dependency(\.weather) var weather
      let (lisbon, oslo) = (try await weather.temperature(city: "Lisbon"), try await weather.temperature(city: "Oslo"))
      #expect(lisbon >= 20 && oslo < 20)
    }
  }
}
