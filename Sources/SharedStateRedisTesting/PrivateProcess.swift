import Foundation
import Synchronization

/// A child process that ends when this process ends, even if this process crashes.
///
/// A small shell, the guard, reads from a socket whose other end only this process holds. The kernel closes that end
/// when this process ends in any way, and the shell then kills the child.
final class PrivateProcess: Sendable {
  private struct State {
    var hasEnded = false
    /// Our end of the socket that the guard reads from; closed when the process has ended.
    let lifeline: Int32
  }

  private let pid: pid_t
  private let guardPid: pid_t
  private let state: Mutex<State>

  private static let secondsToEnd = 10

  /// Starts a process whose output goes into a file.
  /// - Throws: ``PrivateRedisServerError/Code/system``.
  init(executable: String, arguments: [String], log: String) throws {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw PrivateRedisServerError.system(operation: "socketpair", code: errno)
    }
    defer { close(ends[0]) }
    do {
      pid = try Self.spawn(executable, arguments, input: nil, output: log)
    } catch {
      close(ends[1])
      throw error
    }
    do {
      let script = "read -r line; kill -9 \"$1\" 2>/dev/null"
      guardPid = try Self.spawn("/bin/sh", ["-c", script, "guard", String(pid)], input: ends[0], output: "/dev/null")
    } catch {
      close(ends[1])
      Glibc.kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
      throw error
    }
    state = Mutex(State(lifeline: ends[1]))
  }

  deinit {
    end(SIGKILL)
  }

  var isRunning: Bool {
    state.withLock { state in
      guard !state.hasEnded else { return false }
      // Does not reap the process: until then, its pid cannot be assigned to another process.
      var info = siginfo_t()
      return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info._sifields._kill.si_pid == 0
    }
  }

  /// Suspends the process; `false`: it has ended.
  func pause() -> Bool {
    signal(SIGSTOP, untilStopped: true)
  }

  /// Resumes the process; `false`: it has ended.
  func resume() -> Bool {
    signal(SIGCONT, untilStopped: false)
  }

  /// Sends a signal that ends the process, waits until it has ended, and sends SIGKILL if that takes too long.
  func end(_ signal: Int32) {
    let lifeline: Int32? = state.withLock { state in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      return state.lifeline
    }
    guard let lifeline else { return }
    // The guard ends first. If it outlived the process, it could kill another process with the same pid.
    Glibc.kill(guardPid, SIGKILL)
    _ = Self.within(seconds: Self.secondsToEnd) { waitpid(guardPid, nil, WNOHANG) != 0 }
    close(lifeline)
    Glibc.kill(pid, signal)
    // A suspended process handles no signal but SIGKILL until it is resumed.
    Glibc.kill(pid, SIGCONT)
    if !Self.within(seconds: Self.secondsToEnd, { waitpid(pid, nil, WNOHANG) != 0 }) {
      Glibc.kill(pid, SIGKILL)
      // If the kernel cannot end the process in this time, stop waiting.
      _ = Self.within(seconds: Self.secondsToEnd) { waitpid(pid, nil, WNOHANG) != 0 }
    }
  }

  /// The path of a program in one of the folders of PATH, unless the name is a path.
  static func executable(_ name: String, orThrow error: any Error) throws -> String {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
    let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
    guard let path = paths.first(where: FileManager.default.isExecutableFile(atPath:))
    else { throw error }
    return path
  }

  /// Sends a signal, and waits until the process is suspended or resumed because of it.
  private func signal(_ signal: Int32, untilStopped isStopped: Bool) -> Bool {
    guard !state.withLock({ $0.hasEnded }) else { return false }
    Glibc.kill(pid, signal)
    // Signals are delivered asynchronously, and a test must not continue before that.
    return Self.within(seconds: Self.secondsToEnd) { !isRunning || self.isStopped == isStopped } && isRunning
  }

  /// Whether the process is suspended. Read from /proc, because a resumed process does not report that it is running.
  private var isStopped: Bool {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    // The name of the program, in parentheses, may contain any characters.
    return status.split(separator: ")").last?.hasPrefix(" T") ?? false
  }

  /// Polls a condition for a limited time. Returns whether it came true.
  private static func within(seconds: Int, _ hasHappened: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now.advanced(by: .seconds(seconds))
    while !hasHappened() {
      guard ContinuousClock.now < deadline else { return false }
      usleep(1_000)
    }
    return true
  }

  private static func spawn(_ path: String, _ arguments: [String], input: Int32?, output: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)

    // The server must not inherit the signals that the test runner blocks or ignores.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let strings = ([path] + arguments).map { strdup($0) }
    defer { strings.forEach { free($0) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, path, &actions, &attributes, strings + [nil], environ)
    guard code == 0 else { throw PrivateRedisServerError.system(operation: "posix_spawn of \(path)", code: code) }
    return pid
  }
}
