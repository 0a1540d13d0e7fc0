import SharedState

@main
struct CoreOnly {
  static func main() {
    @Shared(.inMemory("count")) var count = 0
    $count.withLock { $0 += 1 }
    print("The core works without Redis: \(count)")
  }
}
