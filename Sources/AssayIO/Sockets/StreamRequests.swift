import CLibuv

/// A libuv write request with the bytes that the system did not take at once.
@safe
final class Write {
    private let stream: Stream
    private let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    private init(_ source: Span<UInt8>, to stream: Stream) {
        self.stream = stream
        unsafe bytes = .allocate(capacity: source.count)
        unsafe source.withUnsafeBufferPointer { source in
            _ = unsafe bytes.initialize(fromContentsOf: source)
        }
    }

    deinit {
        unsafe request.deallocate()
        unsafe bytes.deallocate()
    }

    static func start(_ bytes: [UInt8], from start: Int, to stream: Stream) {
        let write = Write(bytes.span.extracting(start...), to: stream)
        unsafe write.request.pointee.data = Unmanaged.passRetained(write).toOpaque()
        var buffer = unsafe Stream.buffer(UnsafeBufferPointer(write.bytes))
        let code = unsafe uv_write(write.request, stream.uvStream, &buffer, 1) { request, code in
            let write = unsafe Unmanaged<Write>.fromOpaque(request!.pointee.data)
            unsafe write.takeRetainedValue().stream.didWrite(code)
        }
        if code < 0 {
            unsafe Unmanaged.passUnretained(write).release()
            stream.fail(LoopError(code: code))
        }
    }
}

/// A libuv request that writes pending bytes, then closes the writing side.
@safe
final class ShutDown {
    private let stream: Stream
    private let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)

    private init(_ stream: Stream) { self.stream = stream }

    deinit { unsafe request.deallocate() }

    static func start(_ stream: Stream) {
        let shutDown = ShutDown(stream)
        unsafe shutDown.request.pointee.data = Unmanaged.passRetained(shutDown).toOpaque()
        let code = unsafe uv_shutdown(shutDown.request, stream.uvStream) { request, code in
            let shutDown = unsafe Unmanaged<ShutDown>.fromOpaque(request!.pointee.data)
            unsafe shutDown.takeRetainedValue().stream.didShutDown(code)
        }
        if code < 0 {
            unsafe Unmanaged.passUnretained(shutDown).release()
            stream.close()
        }
    }
}
