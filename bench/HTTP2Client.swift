import AssayIO
import CNghttp2

/// The client's side of one connection of HTTP/2: nghttp2 on a blocking socket. Its windows are so
/// wide that they hold no answer back.
@safe final class HTTP2Client {
    /// A request, and what has arrived of its answer.
    final class Request {
        fileprivate(set) var number: Int32 = 0
        fileprivate var body: [UInt8]
        fileprivate var next = 0
        fileprivate var isLast: Bool
        fileprivate var isDeferred = false
        /// What has arrived of the answer's body. The caller removes what it has read.
        var received: [UInt8] = []
        /// The values of `:status` and of `grpc-status`, if they arrived.
        fileprivate(set) var status = ""
        fileprivate(set) var grpcStatus = ""
        fileprivate(set) var isClosed = false

        fileprivate init(_ body: [UInt8], isLast: Bool) {
            self.body = body
            self.isLast = isLast
        }
    }

    private var session: OpaquePointer?
    private let socket: LoopbackSocket
    private var requests: [Int32: Request] = [:]
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)

    private static let window: Int32 = 1 << 24

    init(to address: Endpoint) throws {
        socket = try .connected(to: address)
        var callbacks: OpaquePointer?
        unsafe precondition(nghttp2_session_callbacks_new(&callbacks) == 0)
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe Self.setCallbacks(callbacks)
        let user = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe precondition(nghttp2_session_client_new(&session, callbacks, user) == 0)
        let setting = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
            value: UInt32(Self.window))
        unsafe _ = nghttp2_submit_settings(session, 0, [setting], 1)
        unsafe _ = nghttp2_session_set_local_window_size(session, 0, 0, Self.window)
        try flush()
    }

    deinit { unsafe nghttp2_session_del(session) }

    // MARK: Requests

    /// Begins a request, which `flush` sends.
    ///
    /// - Parameter isLast: whether the body ends; otherwise `append` follows.
    func begin(_ head: HTTP2RequestHead, _ body: [UInt8], isLast: Bool = true) throws -> Request {
        let request = Request(body, isLast: isLast)
        var provider = unsafe nghttp2_data_provider()
        unsafe provider.read_callback = { _, stream, buffer, length, flags, _, user in
            guard let client = unsafe HTTP2Client.of(user), let buffer = unsafe buffer,
                let flags = unsafe flags
            else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
            return unsafe client.copy(
                stream, UnsafeMutableBufferPointer(start: buffer, count: length), flags)
        }
        let number = unsafe head.withFields { fields in
            unsafe nghttp2_submit_request(
                session, nil, fields.baseAddress, fields.count, &provider, nil)
        }
        guard number > 0 else { throw Self.failed("a request", number) }
        request.number = number
        requests[number] = request
        return request
    }

    /// Appends to the body of a request.
    func append(_ bytes: [UInt8], to request: Request, isLast: Bool = false) {
        if request.next == request.body.count {
            request.body = bytes
            request.next = 0
        } else {
            request.body += bytes
        }
        request.isLast = isLast
        guard request.isDeferred else { return }
        request.isDeferred = false
        unsafe _ = nghttp2_session_resume_data(session, request.number)
    }

    /// Whether everything of the body so far was sent.
    func hasSent(_ request: Request) -> Bool { request.next == request.body.count }

    /// Sends what the server's windows admit.
    func flush() throws {
        var output: [UInt8] = []
        while true {
            var data: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &data)
            guard count >= 0 else { throw Self.failed("sending", Int32(count)) }
            guard count > 0, let data = unsafe data else { break }
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
            // The server begins while the rest is made.
            guard output.count > Self.sendBytes else { continue }
            try socket.send(output)
            output.removeAll(keepingCapacity: true)
        }
        if !output.isEmpty { try socket.send(output) }
    }

    private static let sendBytes = 128 << 10

    /// Waits for data, and sends what it admits.
    func receive() throws {
        let count = socket.receive(into: &buffer)
        guard count > 0 else {
            throw AssayProcess.Failed(description: "the server closed a connection of HTTP/2")
        }
        let code = unsafe buffer.withUnsafeBufferPointer { buffer in
            unsafe nghttp2_session_mem_recv(session, buffer.baseAddress, count)
        }
        guard code >= 0 else { throw Self.failed("an answer", Int32(code)) }
        try flush()
    }

    private static func failed(_ what: String, _ code: Int32) -> AssayProcess.Failed {
        let reason = unsafe String(cString: nghttp2_strerror(code))
        return AssayProcess.Failed(description: "\(what) of HTTP/2: \(reason)")
    }

    // MARK: Callbacks

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Client? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<HTTP2Client>.fromOpaque(user).takeUnretainedValue()
    }

    private func copy(
        _ stream: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let request = requests[stream] else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let count = min(buffer.count, request.body.count - request.next)
        if count == 0, !request.isLast {
            request.isDeferred = true
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        unsafe request.body.withUnsafeBufferPointer { body in
            let part = unsafe UnsafeBufferPointer(
                rebasing: body[request.next..<request.next + count])
            unsafe _ = buffer.update(fromContentsOf: part)
        }
        request.next += count
        if request.next == request.body.count, request.isLast {
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        }
        return count
    }

    private static func setCallbacks(_ callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameBytes, value, valueBytes, _, user in
            guard let client = unsafe HTTP2Client.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let name = unsafe UnsafeBufferPointer(start: name, count: nameBytes)
            let isStatus = unsafe name.elementsEqual(":status".utf8)
            guard unsafe isStatus || name.elementsEqual("grpc-status".utf8) else { return 0 }
            let text = unsafe String(
                decoding: UnsafeBufferPointer(start: value, count: valueBytes), as: UTF8.self)
            let request = client.requests[unsafe frame.pointee.hd.stream_id]
            if isStatus { request?.status = text } else { request?.grpcStatus = text }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, count, user in
            guard let client = unsafe HTTP2Client.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            unsafe client.requests[stream]?.received.append(
                contentsOf: UnsafeBufferPointer(start: data, count: count))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _, stream, _, user in
            guard let client = unsafe HTTP2Client.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            client.requests.removeValue(forKey: stream)?.isClosed = true
            return 0
        }
    }
}

/// The head of a request, as nghttp2 wants it: names in lower case, the pseudo fields first.
struct HTTP2RequestHead {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    /// A POST.
    init(_ path: String, _ fields: [(String, String)]) {
        let pseudo = [
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
        ]
        for (name, value) in pseudo + fields {
            bytes += name.utf8
            bytes += value.utf8
            lengths.append((name.utf8.count, value.utf8.count))
        }
    }

    /// A call of gRPC, with the fields that its clients send.
    static func grpc(_ path: String) -> HTTP2RequestHead {
        HTTP2RequestHead(
            path,
            [
                ("te", "trailers"), ("content-type", "application/grpc"),
                ("user-agent", "grpc-bench/1.0"), ("grpc-accept-encoding", "identity, gzip"),
                ("grpc-timeout", "20S"),
            ])
    }

    func withFields<Result>(
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result
    ) -> Result {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            // nghttp2 copies it.
            var pointer = unsafe UnsafeMutablePointer(mutating: buffer.baseAddress!)
            var fields: [nghttp2_nv] = unsafe []
            for (name, value) in lengths {
                unsafe fields.append(
                    nghttp2_nv(
                        name: pointer, value: pointer + name, namelen: name, valuelen: value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                unsafe pointer += name + value
            }
            return unsafe fields.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}
