import CLibuv
import Glibc

extension Stream {
    /// Connects to the endpoint. `handler` gets `.connected` or `.failed`. Closing the stream
    /// cancels the attempt.
    /// - Parameter tls: required for TLS endpoints, ignored for others.
    package static func connect(
        to endpoint: Endpoint, on loop: EventLoop, tls: TLSContext? = nil,
        handler: @escaping (Event) -> Void
    ) throws(LoopError) -> Stream {
        switch endpoint {
        case .unix(let path):
            let socket = try SystemSocket(on: loop, isUnix: true)
            let stream = Stream(socket, on: loop, handler: handler)
            if UnixSocket.isAbstract(path) {
                try socket.connect(abstract: path)
            } else {
                socket.connect(path: path)
            }
            return stream
        // Assay has no HTTP client.
        case .inherited, .http, .https, .unixHTTP: throw .addressNotAvailable
        case .tcp(let host, let port), .tls(let host, let port):
            let socket = try SystemSocket(on: loop, isUnix: false)
            let stream = Stream(socket, on: loop, handler: handler)
            if case .tls = endpoint {
                guard let tls else {
                    stream.close()
                    throw .tls(.unusable("the client", "it has no settings for TLS"))
                }
                stream.tlsToBegin = (tls, host)
            }
            do throws(LoopError) {
                try NameResolution.start(host: host, port: port, for: socket)
            } catch {
                stream.close()
                throw error
            }
            return stream
        }
    }
}

extension SystemSocket {
    fileprivate func connect(path: String) {
        unsafe Connect.start(self) { request, callback in
            unsafe uv_pipe_connect(
                request, self.pointer(as: uv_pipe_t.self), path, callback)
            return 0
        }
    }

    /// Connects to an abstract name. libuv expects a C string, which can't hold one.
    fileprivate func connect(abstract name: String) throws(LoopError) {
        do throws(LoopError) {
            try adopt(UnixSocket.connect(name))
        } catch {
            close()
            throw error
        }
        let socket = LoopBound(self, to: loop)
        loop.post { if !socket.value.isClosing { socket.value.didConnect(0) } }
    }

    fileprivate func connect(address: UnsafePointer<sockaddr>) {
        unsafe Connect.start(self) { request, callback in
            unsafe uv_tcp_connect(request, self.pointer(as: uv_tcp_t.self), address, callback)
        }
    }

    fileprivate func didConnect(_ code: Int32) {
        if code == 0 {
            tune()
            boundUnsent()
        }
        stream?.didConnect(.of(code))
    }
}

/// A libuv connect request.
@safe
private final class Connect {
    private let socket: SystemSocket
    private let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)

    private init(_ socket: SystemSocket) { self.socket = socket }

    deinit { unsafe request.deallocate() }

    static func start(
        _ socket: SystemSocket, _ body: (UnsafeMutablePointer<uv_connect_t>, uv_connect_cb) -> Int32
    ) {
        let connect = Connect(socket)
        unsafe connect.request.pointee.data = Unmanaged.passRetained(connect).toOpaque()
        let code = unsafe body(connect.request) { request, code in
            let connect = unsafe Unmanaged<Connect>.fromOpaque(request!.pointee.data)
            unsafe connect.takeRetainedValue().socket.didConnect(code)
        }
        if code < 0 {
            unsafe Unmanaged.passUnretained(connect).release()
            socket.stream?.fail(LoopError(code: code))
        }
    }
}

/// A lookup of a host's addresses: numeric, or by the system's resolver.
@safe
final class NameResolution {
    private let socket: SystemSocket
    private let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)

    private init(_ socket: SystemSocket) { self.socket = socket }

    deinit { unsafe request.deallocate() }

    /// Looks up the address off the loop's thread, then connects the socket.
    static func start(host: String, port: UInt16, for socket: SystemSocket) throws(LoopError) {
        let resolution = NameResolution(socket)
        unsafe resolution.request.pointee.data = Unmanaged.passRetained(resolution).toOpaque()
        var hints = unsafe streamHints
        let code = unsafe uv_getaddrinfo(
            socket.loop.uv, resolution.request,
            { request, code, found in
                let resolution = unsafe Unmanaged<NameResolution>.fromOpaque(request!.pointee.data)
                unsafe resolution.takeRetainedValue().didEnd(code, found)
            }, host, String(port), &hints)
        if code < 0 {
            unsafe Unmanaged.passUnretained(resolution).release()
            throw LoopError(code: code)
        }
    }

    private func didEnd(_ code: Int32, _ found: UnsafeMutablePointer<addrinfo>?) {
        defer { unsafe uv_freeaddrinfo(found) }
        guard !socket.isClosing else { return }
        guard code == 0, let address = unsafe Self.preferred(found) else {
            return socket.stream!.fail(code < 0 ? LoopError(code: code) : .hostNotFound)
        }
        unsafe socket.connect(address: address)
    }

    /// Looks up the address synchronously, for listeners at the start of a server.
    static func withAddress<R>(
        host: String, port: UInt16, on loop: EventLoop, _ body: (UnsafePointer<sockaddr>) -> R
    ) throws(LoopError) -> R {
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        defer { unsafe request.deallocate() }
        var hints = unsafe streamHints
        try LoopError.check(
            unsafe uv_getaddrinfo(loop.uv, request, nil, host, String(port), &hints))
        defer { unsafe uv_freeaddrinfo(request.pointee.addrinfo) }
        guard let address = unsafe preferred(request.pointee.addrinfo) else {
            throw .hostNotFound
        }
        return unsafe body(address)
    }

    private static var streamHints: addrinfo {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        return unsafe hints
    }

    /// Prefers IPv4: `localhost` is then 127.0.0.1, where servers listen by default.
    private static func preferred(
        _ found: UnsafeMutablePointer<addrinfo>?
    ) -> UnsafePointer<sockaddr>? {
        var next = unsafe found
        while let entry = unsafe next {
            if unsafe entry.pointee.ai_family == AF_INET { break }
            unsafe next = entry.pointee.ai_next
        }
        return unsafe UnsafePointer((next ?? found)?.pointee.ai_addr)
    }
}
