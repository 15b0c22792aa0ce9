import Glibc

/// The client that a connection is from, by which shares are counted: its address, or the user of a
/// Unix socket. Addresses of IPv6 count by their network of 64 bits, which one client has whole.
package enum PeerKey: Hashable, Sendable {
    case user(UInt32)
    case address(UInt32)
    case network(UInt64)
    /// The socket has no peer any more.
    case unknown

    /// - Parameter address: a `sockaddr_in` or a `sockaddr_in6`.
    init(family: Int32, address: RawSpan) {
        switch family {
        case AF_INET: self = .address(UInt32(truncatingIfNeeded: Self.number(4..<8, of: address)))
        case AF_INET6:
            let (network, rest) = (
                Self.number(8..<16, of: address), Self.number(16..<20, of: address)
            )
            if network == 0, rest == 0xFFFF {
                // An address of IPv4 on a socket of IPv6.
                self = .address(UInt32(truncatingIfNeeded: Self.number(20..<24, of: address)))
            } else {
                self = .network(network)
            }
        default: self = .unknown
        }
    }

    private static func number(_ range: Range<Int>, of bytes: RawSpan) -> UInt64 {
        var number: UInt64 = 0
        for index in range { number = number << 8 | UInt64(bytes.byte(at: index)) }
        return number
    }
}

extension RawSpan {
    fileprivate func byte(at index: Int) -> UInt8 {
        precondition(index >= 0 && index < byteCount)
        return unsafe unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
