import CNghttp2

/// The server's side of one connection of HTTP/2: bytes in, events out; answers in, bytes out. Owns
/// one `nghttp2_session`, which does no I/O.
///
/// nghttp2 checks frames, heads and flow control, and counts some floods; `meter` counts others.
/// What a stream has received is given back to its window by `didUse`, which is the backpressure.
@safe package final class HTTP2Connection {
    var session: OpaquePointer?
    /// The count of what `session` holds.
    private let memory: UnsafeMutablePointer<assay_nghttp2_memory>
    let limits: HTTP2Limits
    // The members that change for each field and frame. Their accesses never overlap, and a request
    // makes about forty: Swift's exclusivity check would cost more than the work.
    /// Events of the bytes that are being received or written, and the first received byte.
    @exclusivity(unchecked) private var events: [HTTP2Event] = []
    private var start: UnsafePointer<UInt8>?
    @exclusivity(unchecked) private var order = HTTP2StreamOrder()
    /// The number of events before a frame that is an error of the connection; nil without one.
    private var eventsBeforeError: Int?
    /// Reads the block of fields that is arriving. No frame of another stream divides it.
    @exclusivity(unchecked) private var heads: HTTP2HeadReader
    var answers: [Int32: HTTP2Answer] = [:]
    /// Frames that are to be written before others.
    var ahead: [UInt8] = []
    /// The number of GOAWAYs that nghttp2 has written.
    private var ends = 0
    /// Bytes of answers that were given and not written.
    @exclusivity(unchecked) var unwritten = 0
    package var unwrittenBytes: Int { unsafe unwritten }
    @exclusivity(unchecked) private var frameMeter: HTTP2FrameMeter
    package var meter: HTTP2FrameMeter { unsafe frameMeter }
    /// Whether the peer broke a rule, so that the connection ends.
    package private(set) var hasFailed = false
    /// The number of streams that have ended.
    package private(set) var closedStreams = 0

    /// The preface that begins a connection (RFC 9113, section 3.4).
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package init(_ limits: HTTP2Limits) {
        self.limits = limits
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(
            to: assay_nghttp2_memory(held: 0, largest: limits.largestAllocation))
        unsafe frameMeter = HTTP2FrameMeter(limits)
        unsafe heads = HTTP2HeadReader(limits)
        unsafe session = makeSession()
        submitSettings()
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe memory.deallocate()
    }

    private func makeSession() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        unsafe precondition(nghttp2_session_callbacks_new(&callbacks) == 0)
        unsafe precondition(nghttp2_option_new(&options) == 0)
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(options)
        }
        unsafe Self.setCallbacks(callbacks)
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_max_outbound_ack(options, limits.unreadAcks)
        unsafe nghttp2_option_set_max_settings(options, limits.settings)
        unsafe nghttp2_option_set_max_send_header_block_length(options, 1 << 20)
        // Priorities of RFC 7540 are ignored, so closed streams need not be kept for them.
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        var session: OpaquePointer?
        let user = unsafe Unmanaged.passUnretained(self).toOpaque()
        let code = unsafe assay_nghttp2_server_new(&session, callbacks, user, options, memory)
        precondition(code == 0, "nghttp2 has no memory")
        return unsafe session
    }

    private func submitSettings() {
        let settings = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UInt32(limits.streamWindow)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(limits.headListBytes)),
            (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ].map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: $1) }
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        var code = unsafe nghttp2_submit_settings(session, flags, settings, settings.count)
        precondition(code == 0, "nghttp2 has no memory")
        code = unsafe nghttp2_session_set_local_window_size(
            session, flags, 0, limits.connectionWindow)
        precondition(code == 0, "the window is valid")
    }

    // MARK: Received bytes

    /// Receives bytes, and appends what they say. Stops when a step's bytes of fields were decoded.
    ///
    /// - Returns: the number of bytes that were used.
    package func receive(
        _ bytes: Span<UInt8>, into received: inout [HTTP2Event]
    ) throws(HTTP2Fault) -> Int {
        // Not copied: the callbacks append to the caller's memory.
        unsafe swap(&events, &received)
        defer { unsafe swap(&events, &received) }
        unsafe heads.beginStep()
        let used = unsafe bytes.withUnsafeBufferPointer { buffer -> Int in
            unsafe start = buffer.baseAddress
            defer { unsafe start = nil }
            let used = unsafe nghttp2_session_mem_recv(session, buffer.baseAddress, buffer.count)
            // A pause after the last byte: what follows is the end of the block, without fields.
            guard used == buffer.count, unsafe heads.decodableBytes <= 0 else { return used }
            let end = unsafe nghttp2_session_mem_recv(session, buffer.baseAddress, 0)
            return end < 0 ? end : used
        }
        guard used >= 0 else { throw Self.fault(Int32(used)) }
        if let eventsBeforeError {
            // What follows the error is not looked at.
            unsafe events.removeSubrange(eventsBeforeError...)
            self.eventsBeforeError = nil
            unsafe _ = nghttp2_session_terminate_session(
                session, HTTP2Code.protocolError.rawValue)
        }
        unsafe frameMeter.read(bytes.extracting(..<used))
        return used
    }

    /// Bytes of fields that were decoded, as RFC 9113, section 6.5.2, counts them.
    package var decodedBytes: Int { unsafe heads.decodedBytes }

    /// Bytes of the last head, and those that nghttp2 holds: tables of both directions, streams,
    /// the field that is arriving, and frames to be written.
    package var heldBytes: Int { unsafe memory.pointee.held + heads.heldBytes }

    /// Takes the events that writing has caused: streams that have ended.
    ///
    /// - Parameter taken: empty; its memory is that of the next events.
    package func takeEvents(into taken: inout [HTTP2Event]) {
        unsafe swap(&events, &taken)
    }

    /// Gives used data back to the windows of its stream and of the connection.
    package func didUse(_ count: Int, of stream: Int32) {
        // The stream possibly has ended; the connection's window counts then.
        unsafe _ = nghttp2_session_consume(session, stream, count)
    }

    /// Whether the peer can still send, or has to get something.
    package var isOpen: Bool { unsafe nghttp2_session_want_read(session) != 0 || hasOutput }

    static func fault(_ code: Int32) -> HTTP2Fault {
        HTTP2Fault(code: code, description: unsafe String(cString: nghttp2_strerror(code)))
    }

    // MARK: Streams and the connection

    /// Ends a stream with a code of RFC 9113, section 7.
    package func reset(_ stream: Int32, _ code: HTTP2Code) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe _ = nghttp2_submit_rst_stream(session, flags, stream, code.rawValue)
    }

    /// Announces that the server will take no more streams; those on their way still count.
    package func announceEnd() { unsafe _ = nghttp2_submit_shutdown_notice(session) }

    /// Asks the peer for an answer, which is the event `pong`.
    package func ping() {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe _ = nghttp2_submit_ping(session, flags, nil)
    }

    /// Takes no more streams than have arrived.
    ///
    /// nghttp2 takes streams until it has written that, and a later GOAWAY would name them, which
    /// RFC 9113, section 6.8, forbids. So it writes now, before it receives more.
    package func end(_ code: HTTP2Code = .noError) {
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe _ = nghttp2_submit_goaway(session, flags, last, code.rawValue, nil, 0)
        var written: [UInt8] = []
        let before = ends
        // After a fault nothing can be said.
        while ends == before, (try? writeNext(into: &written)) == true {}
        ahead += written
    }

    /// Records that time has passed, which admits more frames.
    package func didPass(milliseconds: UInt64) {
        unsafe frameMeter.didPass(milliseconds: milliseconds)
    }

    // MARK: Callbacks

    private static func setCallbacks(_ callbacks: OpaquePointer?) {
        unsafe setFieldCallbacks(callbacks)
        unsafe setFrameCallbacks(callbacks)
    }

    private static func setFieldCallbacks(_ callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) {
            _, frame, user in
            guard let connection = unsafe HTTP2Connection.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let isHead = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            unsafe connection.heads.begin(isHead: isHead)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, _, name, nameBytes, value, valueBytes, _, user in
            guard let connection = unsafe HTTP2Connection.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let nameBuffer = unsafe UnsafeBufferPointer(start: name, count: nameBytes)
            let valueBuffer = unsafe UnsafeBufferPointer(start: value, count: valueBytes)
            return connection.add(unsafe nameBuffer.span, unsafe valueBuffer.span)
        }
        // A field with bytes that HTTP forbids ends its stream. Without this it would be ignored.
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            _, _, name, nameBytes, value, valueBytes, _, user in
            guard let connection = unsafe HTTP2Connection.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let nameBuffer = unsafe UnsafeBufferPointer(start: name, count: nameBytes)
            let valueBuffer = unsafe UnsafeBufferPointer(start: value, count: valueBytes)
            return connection.add(unsafe nameBuffer.span, unsafe valueBuffer.span, isValid: false)
        }
        // nghttp2 has reset the stream of a head that no request has.
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _, frame, code, user in
            guard let connection = unsafe HTTP2Connection.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let isHead = unsafe frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue)
            let isField = [NGHTTP2_ERR_HTTP_HEADER, NGHTTP2_ERR_HTTP_MESSAGING].contains {
                $0.rawValue == code
            }
            if isHead, isField { unsafe connection.events.append(.refusedHead(.invalidFieldValue)) }
            return 0
        }
    }

    private static func setFrameCallbacks(_ callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, head, user in
            guard let connection = unsafe HTTP2Connection.of(user), let head = unsafe head else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            connection.willReceive(unsafe head.pointee)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let connection = unsafe HTTP2Connection.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            connection.didReceive(unsafe frame.pointee.hd)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, user in
            guard let connection = unsafe HTTP2Connection.of(user), let frame = unsafe frame else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            let isEnd = unsafe frame.pointee.hd.type == UInt8(NGHTTP2_GOAWAY.rawValue)
            let isReset = unsafe frame.pointee.hd.type == UInt8(NGHTTP2_RST_STREAM.rawValue)
            if isEnd { connection.ends += 1 }
            if isEnd, unsafe frame.pointee.goaway.error_code != 0 { connection.hasFailed = true }
            // A peer that has the server reset its streams costs as much as one that does.
            if isReset, unsafe frame.pointee.rst_stream.error_code != 0 {
                unsafe connection.frameMeter.didReset()
            }
            connection.didSend(unsafe frame.pointee.hd)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, count, user in
            guard let connection = unsafe HTTP2Connection.of(user), let data = unsafe data else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            unsafe connection.didReceive(data, count, of: stream)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _, stream, code, user in
            guard let connection = unsafe HTTP2Connection.of(user) else {
                return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            }
            connection.didClose(stream, code)
            return 0
        }
    }

    static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Connection? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<HTTP2Connection>.fromOpaque(user).takeUnretainedValue()
    }

    /// Adds a field to the block. Every field of every block passes here, and is counted.
    private func add(
        _ name: Span<UInt8>, _ value: Span<UInt8>, isValid: Bool = true
    ) -> Int32 {
        switch unsafe heads.add(name, value, isValid: isValid) {
        case .proceed: 0
        case .pause: NGHTTP2_ERR_PAUSE.rawValue
        case .tooLarge: NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }

    private func willReceive(_ frame: nghttp2_frame_hd) {
        guard unsafe order.isBroken(byType: frame.type, on: frame.stream_id) else { return }
        eventsBeforeError = unsafe eventsBeforeError ?? events.count
    }

    private func didReceive(_ frame: nghttp2_frame_hd) {
        let type = UInt32(frame.type)
        if type == NGHTTP2_RST_STREAM.rawValue,
            unsafe nghttp2_session_get_stream_local_close(session, frame.stream_id) == 0
        {
            unsafe frameMeter.didReset()
        }
        let isHead = type == NGHTTP2_HEADERS.rawValue
        let ends = frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        if type == NGHTTP2_PING.rawValue, frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 {
            unsafe events.append(.pong)
        }
        if isHead, let event = unsafe heads.finish(ends: ends, stream: frame.stream_id) {
            unsafe events.append(event)
            if case .refusedHead(let fault) = event {
                return reset(frame.stream_id, fault.status == 400 ? .protocolError : .calm)
            }
        }
        if ends, isHead || type == NGHTTP2_DATA.rawValue {
            unsafe events.append(.end(stream: frame.stream_id))
        }
    }

    private func didReceive(_ data: UnsafePointer<UInt8>, _ count: Int, of stream: Int32) {
        guard let start = unsafe start, count > 0 else { return }
        let first = unsafe data - start
        unsafe events.append(.data(stream: stream, first..<first + count))
    }

    /// An answer that ends before its request asks the client to send no more of it (RFC 9113,
    /// section 8.1).
    private func didSend(_ frame: nghttp2_frame_hd) {
        let type = UInt32(frame.type)
        let isMessage = type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue
        guard isMessage else { return }
        unsafe frameMeter.didSend(frames: 1)
        guard frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
        unsafe frameMeter.didAnswer()
        if unsafe nghttp2_session_get_stream_remote_close(session, frame.stream_id) == 0 {
            reset(frame.stream_id, .noError)
        }
    }

    private func didClose(_ stream: Int32, _ code: UInt32) {
        if let answer = answers.removeValue(forKey: stream) {
            unsafe unwritten -= answer.unwritten
        }
        closedStreams += 1
        unsafe events.append(.closed(stream: stream, code: code))
    }
}

/// The codes of RFC 9113, section 7, that the server gives.
package enum HTTP2Code: UInt32, Sendable {
    case noError = 0
    case protocolError = 1
    case internalError = 2
    case refusedStream = 7
    case cancel = 8
    case calm = 11
}
