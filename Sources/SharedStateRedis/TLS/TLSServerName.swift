#if TLS
  import Glibc

  /// The name or the address that the certificate of a server must contain.
  enum TLSServerName: Equatable {
    case name(String)
    /// Never sent to the server in clear: the protocol knows names only.
    case address(String)

    /// - Parameter text: A host name, or an IPv4 or IPv6 address, as a URL contains it.
    init(_ text: String) {
      // A zone says through which interface an address is reached, and a dot at the end that a name is complete.
      let address = String(text.prefix { $0 != "%" })
      if Self.isAddress(address) {
        self = .address(address)
      } else {
        self = .name(text.hasSuffix(".") ? String(text.dropLast()) : text)
      }
    }

    var text: String {
      switch self {
      case .name(let text), .address(let text): text
      }
    }

    private static func isAddress(_ text: String) -> Bool {
      var (four, six) = (in_addr(), in6_addr())
      return inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1
    }
  }
#endif
