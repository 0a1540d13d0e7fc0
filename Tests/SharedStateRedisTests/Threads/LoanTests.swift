import Synchronization
import Testing

@testable import SharedStateRedis

@Suite("The loan of a connection", .timeLimit(.minutes(5)))
struct LoanTests {
  private final class Connection: Sendable {
    let loan = Loan()
    let users = Atomic(0)
    let collisions = Atomic(0)
    let borrowed = Atomic(0)

    func use() {
      if users.add(1, ordering: .sequentiallyConsistent).newValue > 1 {
        collisions.add(1, ordering: .sequentiallyConsistent)
      }
      users.subtract(1, ordering: .sequentiallyConsistent)
    }
  }

  @Test("A connection is used by one thread at a time, its owner or one borrower")
  func exclusive() async {
    let connection = Connection()
    let enough = 1_000
    await withTaskGroup { group in
      for _ in 0..<3 {
        group.addTask {
          while connection.borrowed.load(ordering: .sequentiallyConsistent) < enough {
            guard connection.loan.borrow() else { await Task.yield(); continue }
            connection.use()
            connection.loan.release()
            connection.borrowed.add(1, ordering: .sequentiallyConsistent)
          }
        }
      }
      group.addTask {
        while connection.borrowed.load(ordering: .sequentiallyConsistent) < enough {
          connection.loan.offer()
          await Task.yield()
          connection.loan.reclaim()
          connection.use()
        }
      }
    }
    #expect(connection.collisions.load(ordering: .sequentiallyConsistent) == 0)
  }

  @Test("A loan is refused while the owner is awake and while the connection is lent")
  func refused() {
    let loan = Loan()
    #expect(!loan.borrow())
    loan.offer()
    #expect(loan.isOffered)
    #expect(loan.borrow())
    #expect(!loan.isOffered)
    #expect(!loan.borrow())
    loan.release()
    #expect(loan.borrow())
    loan.release()
    loan.reclaim()
    #expect(!loan.borrow())
  }
}
