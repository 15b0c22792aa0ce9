import CLibuv
import Glibc

/// A connection to a Unix socket that is only written. Blocks its thread, for a bounded time.
package struct WrittenSocket: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Connects to the path. Never waits.
    package init(connectingTo path: String) throws(LoopError) {
        guard path.utf8.count <= Endpoint.pathLimit else { throw .pathTooLong }
        descriptor = try UnixSocket.connect(path)
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Writes bytes from `start` on, up to what the system takes at once. Waits if it takes none.
    ///
    /// - Returns: their number; 0 after `milliseconds`.
    package func write(
        _ bytes: [UInt8], from start: Int, waitingMilliseconds milliseconds: Int32
    ) throws(LoopError) -> Int {
        let count = send(bytes, from: start)
        if count >= 0 { return count }
        guard errno == EAGAIN || errno == EINTR else { throw LoopError(code: -errno) }
        var socket = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&socket, 1, milliseconds) > 0 else { return 0 }
        let next = send(bytes, from: start)
        if next >= 0 { return next }
        guard errno == EAGAIN || errno == EINTR else { throw LoopError(code: -errno) }
        return 0
    }

    private func send(_ bytes: [UInt8], from start: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            // A closed peer is an error, and not the end of the process.
            unsafe Glibc.send(
                descriptor, bytes.baseAddress! + start, bytes.count - start,
                Int32(MSG_NOSIGNAL))
        }
    }
}
