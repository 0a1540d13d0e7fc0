import Foundation
import OrderWorkflow
import SharedState
import SharedStateRedis
import SharedStateStore

/// `order-workflow` shows a payment service that is killed between charging an order and saving that it is paid.
///
/// It starts the services as processes of their own: `order-workflow shop` and `order-workflow payment`, both on the Redis
/// at `REDIS_URL`.
@main
enum Program {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case nil: try await Demonstration.run()
      case "shop": await shop()
      case "payment": await payment(Set(arguments.dropFirst()))
      default:
        say("order-workflow [shop | payment [charges-once] [dies-after-charge]]")
        exit(2)
      }
    } catch {
      say("order-workflow: \(error)")
      exit(1)
    }
  }

  /// Takes an order, and ends when it has shipped it.
  private static func shop() async {
    let redis = RedisStore.fromEnvironmentOrExit(logger: .quiet)
    let shop = Shop.service(on: redis)
    let order = Order(id: "1", item: "a book", price: 1_999)
    shop.send(.ordered(order))
    var status: Order.Status?
    for await orders in shop.state.$orders.updates {
      guard let next = orders[order.id]?.status, next != status else { continue }
      status = next
      say("shop      order \(order.id), \(order.item), is \(next)")
      if next == .shipped { break }
    }
    await redis.shutdown(within: .seconds(5))
  }

  /// Charges placed orders, until it is killed.
  private static func payment(_ options: Set<String>) async {
    let redis = RedisStore.fromEnvironmentOrExit(logger: .quiet)
    let bank = Bank.keeping(.ledger(on: redis), chargesOnce: options.contains("charges-once"))
    let payment = Payment.service(
      on: redis,
      bank: Bank { order in
        try await bank.charge(order)
        say("payment   order \(order.id) is charged")
        if options.contains("dies-after-charge") { kill(getpid(), SIGKILL) }
      }
    )
    for await status in redis.statuses where status == .stopped { break }
    withExtendedLifetime(payment) {}
  }
}

/// Writes a line at once, even when the output is not a terminal.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}
