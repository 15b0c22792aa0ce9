import CNghttp2

/// The client's side of one connection of HTTP/2: requests in, bytes out; bytes in, answers out.
/// Owns one `nghttp2_session`, which does no I/O.
///
/// A request has a slot until `release`. Slots and their memory are reused, so that a call
/// allocates nothing here.
@safe package final class HTTP2Client {
    /// A request, and what has arrived of its answer.
    package struct Request: Sendable {
        fileprivate var stream: Int32 = 0
        fileprivate var body: [UInt8] = []
        /// The first byte of the body that was not sent.
        fileprivate var next = 0
        fileprivate var isLast = true
        fileprivate var isDeferred = false
        /// The status of HTTP; 0 before the head of the answer.
        package fileprivate(set) var status = 0
        /// The value of `grpc-status`; nil before it.
        package fileprivate(set) var grpcStatus: Int?
        /// The value of `grpc-message`, percent-encoded.
        package fileprivate(set) var grpcMessage: [UInt8] = []
        /// The answer's body.
        package fileprivate(set) var answer: [UInt8] = []
    }

    private var session: OpaquePointer?
    private var requests: [Request] = []
    private var freeSlots: [Int] = []
    /// The slots whose streams have ended since `takeClosed`, and the codes of the ends.
    private var closed: [(slot: Int, code: UInt32)] = []
    /// Whether the server has sent its settings, with which its side begins.
    package private(set) var hasSettings = false
    /// Whether the server takes no further requests.
    package private(set) var isDraining = false
    /// The number of streams that are open.
    package private(set) var openStreams = 0

    /// Bytes of an answer, and of all answers, that the server can send without asking: more than
    /// an answer to a large receipt has, so that no answer waits.
    private static let window: Int32 = 1 << 24

    package init() {
        var callbacks: OpaquePointer?
        unsafe precondition(nghttp2_session_callbacks_new(&callbacks) == 0)
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe Self.setCallbacks(callbacks)
        let user = unsafe Unmanaged.passUnretained(self).toOpaque()
        let code = unsafe nghttp2_session_client_new(&session, callbacks, user)
        precondition(code == 0, "nghttp2 has no memory")
        let settings = [
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(Self.window)),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ].map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: $1) }
        unsafe _ = nghttp2_submit_settings(session, 0, settings, settings.count)
        unsafe _ = nghttp2_session_set_local_window_size(session, 0, 0, Self.window)
    }

    deinit { unsafe nghttp2_session_del(session) }

    // MARK: Requests

    /// The number of streams that the server admits at a time.
    package var streamLimit: Int {
        Int(
            unsafe nghttp2_session_get_remote_settings(
                session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// Begins a request.
    ///
    /// - Parameter isLast: whether the body ends; otherwise `append` follows.
    /// - Returns: its slot; nil if the connection takes no more.
    package func begin(_ fields: HTTP2Fields, _ body: [UInt8], isLast: Bool = true) -> Int? {
        if freeSlots.isEmpty {
            requests.append(Request())
            freeSlots.append(requests.count - 1)
        }
        let slot = freeSlots[freeSlots.count - 1]
        var provider = unsafe nghttp2_data_provider()
        let tag = unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
        unsafe provider.source.ptr = unsafe tag
        unsafe provider.read_callback = { _, _, buffer, length, flags, source, user in
            guard let client = unsafe HTTP2Client.of(user), let buffer = unsafe buffer,
                let flags = unsafe flags, let tag = unsafe source?.pointee.ptr
            else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
            return unsafe client.copy(
                of: Int(bitPattern: tag) - 1,
                UnsafeMutableBufferPointer(start: buffer, count: length), flags)
        }
        var stream: Int32 = 0
        unsafe fields.withPairs { pairs in
            unsafe stream = nghttp2_submit_request(
                session, nil, pairs.baseAddress, pairs.count, &provider, tag)
        }
        guard stream > 0 else { return nil }
        freeSlots.removeLast()
        requests[slot].stream = stream
        requests[slot].body = body
        requests[slot].isLast = isLast
        openStreams += 1
        return slot
    }

    /// Appends to the body of a request, with what `write` adds to it.
    package func append(to slot: Int, _ write: (inout [UInt8]) -> Void) {
        if requests[slot].next == requests[slot].body.count {
            requests[slot].body.removeAll(keepingCapacity: true)
            requests[slot].next = 0
        }
        write(&requests[slot].body)
        guard requests[slot].isDeferred else { return }
        requests[slot].isDeferred = false
        unsafe _ = nghttp2_session_resume_data(session, requests[slot].stream)
    }

    /// Gives a request up. Its slot is closed later, like that of an answered one.
    package func reset(_ slot: Int) {
        unsafe _ = nghttp2_submit_rst_stream(
            session, 0, requests[slot].stream, HTTP2Code.cancel.rawValue)
    }

    /// Passes a request and what has arrived of its answer.
    package func withRequest<Result>(
        _ slot: Int, _ body: (borrowing Request) -> Result
    ) -> Result { body(requests[slot]) }

    /// Removes bytes of the answer that the caller has read.
    package func dropAnswer(of slot: Int, first count: Int) {
        requests[slot].answer.removeFirst(count)
    }

    /// Frees the slot of a closed request.
    package func release(_ slot: Int) {
        requests[slot].body = []
        requests[slot].next = 0
        requests[slot].isDeferred = false
        requests[slot].status = 0
        requests[slot].grpcStatus = nil
        requests[slot].grpcMessage.removeAll(keepingCapacity: true)
        requests[slot].answer.removeAll(keepingCapacity: true)
        freeSlots.append(slot)
    }

    /// Moves the slots whose streams have ended to `list`, which is empty.
    package func takeClosed(into list: inout [(slot: Int, code: UInt32)]) { swap(&closed, &list) }

    // MARK: Bytes

    /// Receives bytes of the server.
    package func receive(_ bytes: Span<UInt8>) throws(HTTP2Fault) {
        let used = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe nghttp2_session_mem_recv(session, buffer.baseAddress, buffer.count)
        }
        guard used >= 0 else { throw HTTP2Connection.fault(Int32(used)) }
    }

    /// Whether both sides are done with the connection.
    package var isOver: Bool {
        unsafe nghttp2_session_want_read(session) == 0
            && nghttp2_session_want_write(session) == 0
    }

    /// Appends what is to be sent and what the server's windows admit.
    package func write(into output: inout [UInt8]) throws(HTTP2Fault) {
        while true {
            var data: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &data)
            guard count >= 0 else { throw HTTP2Connection.fault(Int32(count)) }
            guard count > 0, let data = unsafe data else { return }
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
        }
    }

    private func copy(
        of slot: Int, _ buffer: UnsafeMutableBufferPointer<UInt8>,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        let next = requests[slot].next
        let count = min(buffer.count, requests[slot].body.count - next)
        if count == 0, !requests[slot].isLast {
            requests[slot].isDeferred = true
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        unsafe requests[slot].body.withUnsafeBufferPointer { body in
            let part = unsafe UnsafeBufferPointer(rebasing: body[next..<next + count])
            unsafe _ = buffer.update(fromContentsOf: part)
        }
        requests[slot].next = next + count
        if requests[slot].isLast, requests[slot].next == requests[slot].body.count {
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        }
        return count
    }
}

extension HTTP2Client {
    // MARK: Callbacks

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Client? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<HTTP2Client>.fromOpaque(user).takeUnretainedValue()
    }

    /// The slot of a stream; nil for one that has none.
    private func slot(_ stream: Int32) -> Int? {
        guard let tag = unsafe nghttp2_session_get_stream_user_data(session, stream) else {
            return nil
        }
        return Int(bitPattern: tag) - 1
    }

    private static func setCallbacks(_ callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, user in
            guard let client = unsafe HTTP2Client.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let name = unsafe UnsafeBufferPointer(start: name, count: nameCount)
            let value = unsafe UnsafeBufferPointer(start: value, count: valueCount)
            unsafe client.didReceive(name.span, value.span, of: frame.pointee.hd.stream_id)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let client = unsafe HTTP2Client.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let type = UInt32(unsafe frame.pointee.hd.type)
            if type == NGHTTP2_SETTINGS.rawValue { client.hasSettings = true }
            if type == NGHTTP2_GOAWAY.rawValue { client.isDraining = true }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, count, user in
            guard let client = unsafe HTTP2Client.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            guard let slot = client.slot(stream) else { return 0 }
            unsafe client.requests[slot].answer.append(
                contentsOf: UnsafeBufferPointer(start: data, count: count))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _, stream, code, user in
            guard let client = unsafe HTTP2Client.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            guard let slot = client.slot(stream) else { return 0 }
            client.openStreams -= 1
            client.closed.append((slot, code))
            return 0
        }
    }

    /// Keeps the statuses and the message of an answer; its other fields have no use here.
    private func didReceive(_ name: Span<UInt8>, _ value: Span<UInt8>, of stream: Int32) {
        switch name.count {
        case 7 where name.equals(":status"):
            guard let slot = slot(stream) else { return }
            requests[slot].status = Self.number(value) ?? 0
        case 11 where name.equals("grpc-status"):
            guard let slot = slot(stream) else { return }
            requests[slot].grpcStatus = Self.number(value)
        case 12 where name.equals("grpc-message"):
            guard let slot = slot(stream) else { return }
            unsafe value.withUnsafeBufferPointer {
                unsafe requests[slot].grpcMessage.append(contentsOf: $0)
            }
        default: break
        }
    }

    /// A number of at most three digits; nil for anything else.
    private static func number(_ text: Span<UInt8>) -> Int? {
        guard (1...3).contains(text.count) else { return nil }
        var number = 0
        for index in text.indices {
            guard (0x30...0x39).contains(text[index]) else { return nil }
            number = number * 10 + Int(text[index]) - 0x30
        }
        return number
    }
}
