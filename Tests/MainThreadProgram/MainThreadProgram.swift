import Dispatch
import Foundation

/// Watches a share on the main actor while another process changes it: `MainThreadProgram watch LOOP STRATEGY PLACE`.
///
/// `LOOP` says how the main thread waits: `dispatch` or `runLoop`. The other process is this program again, as
/// `MainThreadProgram change STRATEGY PLACE VALUE`. A value in memory is changed by another thread instead.
///
/// `MainThreadProgram leave URL` changes a value and exits at once. `MainThreadProgram deliver URL` exits once the
/// change is delivered.
///
/// `MainThreadProgram block` subscribes on the main thread, which then never runs its queue.
/// `MainThreadProgram ignore FILE` shares a file that cannot be read, and ignores the error. Both run until killed.
@main
struct MainThreadProgram {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "change" where arguments.count == 4:
      guard let strategy = Strategy(rawValue: arguments[2]), let value = Int(arguments[4]) else { exit(2) }
      run { try await strategy.change(to: value, at: arguments[3]) }
      dispatchMain()
    case "watch" where arguments.count == 4:
      guard let strategy = Strategy(rawValue: arguments[3]) else { exit(2) }
      run { try await Watch(strategy, at: arguments[4]).run() }
      if arguments[2] == "runLoop" { while true { RunLoop.main.run() } }
      dispatchMain()
    case "leave" where arguments.count == 2:
      run { try Neglect.leave(arguments[2], flushes: false) }
      dispatchMain()
    case "deliver" where arguments.count == 2:
      run { try Neglect.leave(arguments[2], flushes: true) }
      dispatchMain()
    case "block" where arguments.count == 1: Neglect.blockMainThread()
    case "ignore" where arguments.count == 2:
      run { try await Neglect.ignoreErrors(of: arguments[2]) }
      dispatchMain()
    default: exit(2)
    }
  }

  private static func run(_ body: @escaping @MainActor @Sendable () async throws -> Void) {
    Task { @MainActor in
      do {
        try await body()
        exit(0)
      } catch {
        try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
        exit(1)
      }
    }
  }
}
