import CLibuv

/// A libuv write request with the bytes that the system did not take at once.
@safe
final class Write {
    private let socket: SystemSocket
    private let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    private init(_ source: Span<UInt8>, to socket: SystemSocket) {
        self.socket = socket
        unsafe bytes = .allocate(capacity: source.count)
        unsafe source.withUnsafeBufferPointer { source in
            _ = unsafe bytes.initialize(fromContentsOf: source)
        }
    }

    deinit {
        unsafe request.deallocate()
        unsafe bytes.deallocate()
    }

    static func start(
        _ bytes: [UInt8], from start: Int, to socket: SystemSocket
    ) throws(LoopError) {
        let write = Write(bytes.span.extracting(start...), to: socket)
        unsafe write.request.pointee.data = Unmanaged.passRetained(write).toOpaque()
        var buffer = unsafe SystemSocket.buffer(UnsafeBufferPointer(write.bytes))
        let code = unsafe uv_write(write.request, socket.uvStream, &buffer, 1) { request, code in
            let write = unsafe Unmanaged<Write>.fromOpaque(request!.pointee.data)
            unsafe write.takeRetainedValue().socket.stream?.didWrite(.of(code))
        }
        if code < 0 {
            unsafe Unmanaged.passUnretained(write).release()
            throw LoopError(code: code)
        }
    }
}

/// A libuv request that writes pending bytes, then closes the writing side.
@safe
final class ShutDown {
    private let socket: SystemSocket
    private let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)

    private init(_ socket: SystemSocket) { self.socket = socket }

    deinit { unsafe request.deallocate() }

    static func start(_ socket: SystemSocket) throws(LoopError) {
        let shutDown = ShutDown(socket)
        unsafe shutDown.request.pointee.data = Unmanaged.passRetained(shutDown).toOpaque()
        let code = unsafe uv_shutdown(shutDown.request, socket.uvStream) { request, code in
            let shutDown = unsafe Unmanaged<ShutDown>.fromOpaque(request!.pointee.data)
            unsafe shutDown.takeRetainedValue().socket.stream?.didShutDown(.of(code))
        }
        if code < 0 {
            unsafe Unmanaged.passUnretained(shutDown).release()
            throw LoopError(code: code)
        }
    }
}
