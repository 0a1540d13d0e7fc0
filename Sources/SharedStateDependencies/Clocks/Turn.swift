/// A turn for the tasks that are ready to run.
enum Turn {
  /// Lets other tasks run: those that wait for the same actor, and those of the global executor.
  nonisolated(nonsending) static func give() async {
    await Task.yield()
    // A continuation, since the priority of a task that is awaited is raised to that of who awaits it.
    await withCheckedContinuation { continuation in
      Task.detached(priority: .background) { continuation.resume() }
    }
  }
}
