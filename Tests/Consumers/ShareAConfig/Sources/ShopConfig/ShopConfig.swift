import SharedStateRedis

/// The config that the services of the shop share.
public struct ShopConfig: Codable, Sendable {
  /// How many items an order may have.
  public var maximumItems = 10
  /// The text at the top of each page.
  public var banner = ""

  /// The config of a shop that has not been set up.
  public init() {}
}

extension SharedReaderKey where Self == RedisSharedKey<ShopConfig>.Default {
  /// The config, as Redis has it.
  public static var shopConfig: Self {
    Self[.redis("shop:config"), default: ShopConfig()]
  }
}
