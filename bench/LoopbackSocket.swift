import AssayIO
import Foundation

/// A blocking socket on the loopback interface: the cheapest way to send bytes.
final class LoopbackSocket {
    private let descriptor: Int32
    private static let timeoutSeconds = 60

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // Disables Nagle's algorithm, so that the end of a message is not delayed.
        var on: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        // Linux's usual algorithm, even if the machine's default differs. BBR, which is for long
        // distances, would pace loopback traffic by earlier traffic and distort the results.
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, "cubic", 5)
        // A server that never answers fails its row and does not block the run.
        var patience = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &patience,
                socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { close(descriptor) }

    static func connected(to endpoint: Endpoint) throws -> LoopbackSocket {
        let port: UInt16
        switch endpoint {
        case .tcp(_, let number), .http(_, let number): port = number
        default: throw AssayProcess.Failed(description: "\(endpoint) is not a TCP address")
        }
        let made = LoopbackSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = loopback(port)
        let code = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(
                    made.descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            throw AssayProcess.Failed(description: "no connection to \(endpoint)")
        }
        return made
    }

    /// Listens on a port that the system chooses.
    static func listening() -> (LoopbackSocket, port: UInt16) {
        let made = LoopbackSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(made.descriptor, address, size) | listen(made.descriptor, 4)
                    | getsockname(made.descriptor, address, &size)
            }
        }
        precondition(code == 0, "can't connect to the listener")
        return (made, UInt16(bigEndian: address.sin_port))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    func accepted() -> LoopbackSocket { LoopbackSocket(accept(descriptor, nil, nil)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.send(
                    descriptor, bytes.baseAddress! + sent, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Self.closed }
            sent += count
        }
    }

    private static let closed = AssayProcess.Failed(
        description: "the peer closed the connection, or sent nothing for \(timeoutSeconds) s")

    /// Receives into the buffer and returns the number of bytes, 0 at the end or on an error.
    func receive(into buffer: inout [UInt8]) -> Int {
        unsafe buffer.withUnsafeMutableBytes { buffer in
            max(0, unsafe read(descriptor, buffer.baseAddress, buffer.count))
        }
    }

    /// Receives exactly `count` bytes.
    func receive(_ count: Int) throws -> [UInt8] {
        var received: [UInt8] = []
        while received.count < count {
            var buffer = [UInt8](repeating: 0, count: count - received.count)
            let more = receive(into: &buffer)
            guard more > 0 else { throw Self.closed }
            received += buffer[..<more]
        }
        return received
    }
}
