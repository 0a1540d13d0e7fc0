/// Where a server listens.
package enum RedisEndpoint: Hashable, Sendable {
  case tcp(host: String, port: UInt16)
  case unix(path: String)
}
