import CLibuv
import Glibc

/// A handle with a socket: a stream or a listener, TCP or Unix.
@safe
package class SocketHandle: Handle {
    let isUnix: Bool

    init(on loop: EventLoop, isUnix: Bool) throws(LoopError) {
        self.isUnix = isUnix
        try unsafe super.init(on: loop, type: isUnix ? UV_NAMED_PIPE : UV_TCP) { handle in
            let raw = UnsafeMutableRawPointer(handle)
            return isUnix
                ? unsafe uv_pipe_init(loop.uv, raw.assumingMemoryBound(to: uv_pipe_t.self), 0)
                : unsafe uv_tcp_init(loop.uv, raw.assumingMemoryBound(to: uv_tcp_t.self))
        }
    }

    /// Takes ownership of a socket. It closes with the handle, or immediately on an error.
    final func adopt(_ socket: Int32) throws(LoopError) {
        let code =
            isUnix
            ? unsafe uv_pipe_open(pointer(as: uv_pipe_t.self), socket)
            : unsafe uv_tcp_open(pointer(as: uv_tcp_t.self), socket)
        if code < 0 { _ = Glibc.close(socket) }
        try LoopError.check(code)
    }

    /// The socket's descriptor, owned by libuv; -1 without a socket. The system assigns the
    /// lowest free number, so all lower numbers were in use when it was opened.
    package final var descriptor: Int32 {
        var descriptor: Int32 = -1
        _ = unsafe uv_fileno(memory, &descriptor)
        return descriptor
    }

    /// Returns the port that a TCP socket is bound to.
    final func boundPort() throws(LoopError) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // The port is at the same offset in sockaddr_in and sockaddr_in6.
        let (code, port) = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
            let code = unsafe getsockname(descriptor, address, &length)
            return (code, unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        }
        guard code == 0 else { throw LoopError(code: -errno) }
        return port
    }

    final var uvStream: UnsafeMutablePointer<uv_stream_t> { unsafe pointer(as: uv_stream_t.self) }
}
