import SharedStateDependencies
import Testing

@Suite("The microseconds of a duration", .timeLimit(.minutes(5)))
struct DurationTests {
  @Test("They are rounded towards zero, and clamped to 64 bits")
  func wholeMicroseconds() {
    #expect(Duration.nanoseconds(1_999).wholeMicroseconds == 1)
    #expect(Duration.nanoseconds(-1_999).wholeMicroseconds == -1)
    #expect(Duration.microseconds(Int64.max).wholeMicroseconds == .max)
    #expect((Duration.microseconds(Int64.max) + .microseconds(1)).wholeMicroseconds == .max)
    #expect((Duration.microseconds(Int64.min) - .microseconds(1)).wholeMicroseconds == .min)
    #expect(Duration.seconds(Int64.max).wholeMicroseconds == .max)
  }
}
