package import AssayIO
import Glibc

/// A plain blocking socket: a client without any of Assay's libraries.
package final class BlockingClient {
    private var descriptor: Int32

    package struct Failure: Error {
        package let what: String
        package init(what: String) { self.what = what }
    }

    /// - Parameter patience: seconds for each receive. A test that waits longer has failed.
    package init(
        _ endpoint: Endpoint, receiveBuffer: Int32? = nil, patience: Int = 30
    ) throws {
        let (family, address): (Int32, [UInt8]) =
            switch endpoint {
            case .unix(let path), .unixHTTP(let path): (AF_UNIX, Self.unixAddress(path))
            case .inherited: (AF_UNSPEC, [])
            case .tcp(let host, let port), .tls(let host, let port), .http(let host, let port),
                .https(let host, let port):
                host.contains(":")
                    ? (AF_INET6, Self.ipv6Address(host, port))
                    : (AF_INET, Self.ipv4Address(host == "localhost" ? "127.0.0.1" : host, port))
            }
        descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let code = unsafe address.withUnsafeBytes { bytes in
            unsafe connect(
                descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!,
                socklen_t(bytes.count))
        }
        if code != 0 { throw Failure(what: "connect: errno \(errno)") }
    }

    deinit { close() }

    package func close() {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Shuts down the writing side.
    package func finishWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Shuts down both sides, so that another thread stops sending or receiving. The descriptor
    /// stays open.
    package func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Closes the socket with a reset.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe Glibc.send(
                    descriptor, all.baseAddress! + sent, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(what: "send: errno \(errno)") }
            sent += count
        }
    }

    /// Waits until there are bytes to receive, or the stream has ended; false after the timeout.
    package func hasMore(milliseconds: Int32) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&poll, 1, milliseconds) == 1
    }

    /// Receives 1 to `count` bytes; none at the end of the stream.
    package func receive(upTo count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        repeat {
            got = unsafe bytes.withUnsafeMutableBytes { all in
                unsafe recv(descriptor, all.baseAddress!, all.count, 0)
            }
        } while got < 0 && errno == EINTR
        guard got >= 0 else { throw Failure(what: "receive: errno \(errno)") }
        return Array(bytes.prefix(got))
    }

    /// Receives exactly `count` bytes; nil when the stream ends before the first.
    package func receive(exactly count: Int) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try receive(upTo: count - bytes.count)
            if more.isEmpty {
                if bytes.isEmpty { return nil }
                throw Failure(what: "the stream ended after \(bytes.count) of \(count) bytes")
            }
            bytes += more
        }
        return bytes
    }

    /// Receives all bytes up to the end of the stream.
    package func receiveToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try receive(upTo: 64 * 1024)
            if more.isEmpty { return bytes }
            bytes += more
        }
    }

    private static func unixAddress(_ path: String) -> [UInt8] {
        path.hasPrefix("@")
            ? bytes(of: UInt16(AF_UNIX)) + [0] + path.utf8.dropFirst()
            : bytes(of: UInt16(AF_UNIX)) + path.utf8 + [0]
    }

    private static func ipv4Address(_ host: String, _ port: UInt16) -> [UInt8] {
        var address = in_addr()
        _ = unsafe inet_pton(AF_INET, host, &address)
        return bytes(of: UInt16(AF_INET)) + bytes(of: port.bigEndian)
            + bytes(of: address.s_addr) + [UInt8](repeating: 0, count: 8)
    }

    private static func ipv6Address(_ host: String, _ port: UInt16) -> [UInt8] {
        var address = in6_addr()
        _ = unsafe inet_pton(AF_INET6, host, &address)
        let numbers = unsafe withUnsafeBytes(of: &address) { unsafe Array($0) }
        return bytes(of: UInt16(AF_INET6)) + bytes(of: port.bigEndian) + [0, 0, 0, 0] + numbers
            + [0, 0, 0, 0]
    }

    private static func bytes<Number: FixedWidthInteger>(of number: Number) -> [UInt8] {
        unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    }
}
