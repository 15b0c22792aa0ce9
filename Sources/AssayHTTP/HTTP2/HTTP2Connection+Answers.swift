import CNghttp2

/// An answer that is being written.
final class HTTP2Answer {
    fileprivate var body: [UInt8]
    /// The index of the next byte to be written.
    fileprivate var next = 0
    fileprivate var trailers: HTTP2Fields?
    /// Whether more follows.
    fileprivate var isOpen: Bool
    /// Whether nghttp2 waits for more.
    fileprivate var isDeferred = false

    fileprivate init(_ body: [UInt8], _ trailers: HTTP2Fields?, isOpen: Bool) {
        self.body = body
        self.trailers = trailers
        self.isOpen = isOpen
    }

    fileprivate(set) var written = 0
    var unwritten: Int { body.count - next }
}

/// Answers: their heads, their bodies, their trailers.
extension HTTP2Connection {
    /// Answers a request. The answer to a stream that has ended is dropped: the peer gave it up
    /// in bytes that were received with the rest of the request.
    ///
    /// - Parameter isOpen: whether `append` and `finish` follow.
    package func answer(
        _ stream: Int32, _ fields: HTTP2Fields, body: [UInt8],
        trailers: HTTP2Fields? = nil, isOpen: Bool = false
    ) {
        guard isOpenStream(stream) else { return }
        let hasBody = !body.isEmpty || trailers != nil || isOpen
        if hasBody {
            answers[stream] = HTTP2Answer(body, trailers, isOpen: isOpen)
            unsafe unwritten += body.count
        }
        unsafe fields.withPairs { pairs in
            guard hasBody else {
                unsafe _ = nghttp2_submit_response(
                    session, stream, pairs.baseAddress, pairs.count, nil)
                return
            }
            var provider = unsafe nghttp2_data_provider()
            unsafe provider.read_callback = { _, stream, buffer, length, flags, _, user in
                guard let user = unsafe user, let buffer = unsafe buffer, let flags = unsafe flags
                else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
                let connection = unsafe Unmanaged<HTTP2Connection>.fromOpaque(user)
                    .takeUnretainedValue()
                return unsafe connection.copy(
                    stream, UnsafeMutableBufferPointer(start: buffer, count: length), flags)
            }
            unsafe _ = nghttp2_submit_response(
                session, stream, pairs.baseAddress, pairs.count, &provider)
        }
    }

    private func isOpenStream(_ stream: Int32) -> Bool {
        unsafe nghttp2_session_get_stream_local_close(session, stream) == 0
    }

    /// Appends to an open answer.
    package func append(_ bytes: [UInt8], to stream: Int32) {
        guard let answer = answers[stream], answer.isOpen else { return }
        if answer.unwritten == 0 {
            answer.body = bytes
            answer.next = 0
        } else {
            if answer.next > Self.writtenBytesKept {
                answer.body.removeFirst(answer.next)
                answer.next = 0
            }
            answer.body += bytes
        }
        unsafe unwritten += bytes.count
        resume(stream, answer)
    }

    /// Ends an open answer.
    package func finish(_ stream: Int32, trailers: HTTP2Fields? = nil) {
        guard let answer = answers[stream], answer.isOpen else { return }
        answer.isOpen = false
        answer.trailers = trailers
        resume(stream, answer)
    }

    private static let writtenBytesKept = 64 << 10

    private func resume(_ stream: Int32, _ answer: HTTP2Answer) {
        guard answer.isDeferred else { return }
        answer.isDeferred = false
        unsafe _ = nghttp2_session_resume_data(session, stream)
    }

    /// Bytes of an answer that were written, and those that the peer's windows hold back.
    package func progress(of stream: Int32) -> (written: Int, unwritten: Int) {
        guard let answer = answers[stream] else { return (0, 0) }
        return (answer.written, answer.unwritten)
    }

    /// Copies the next bytes of an answer for nghttp2.
    private func copy(
        _ stream: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let answer = answers[stream] else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let count = min(buffer.count, answer.unwritten)
        if count == 0, answer.isOpen {
            answer.isDeferred = true
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        unsafe answer.body.withUnsafeBufferPointer { body in
            let part = unsafe UnsafeBufferPointer(rebasing: body[answer.next..<answer.next + count])
            unsafe _ = buffer.update(fromContentsOf: part)
        }
        answer.next += count
        answer.written += count
        unsafe unwritten -= count
        guard answer.unwritten == 0, !answer.isOpen else { return count }
        unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        if let trailers = answer.trailers {
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            unsafe trailers.withPairs { pairs in
                unsafe _ = nghttp2_submit_trailer(session, stream, pairs.baseAddress, pairs.count)
            }
        }
        return count
    }

    /// Whether there is something to be sent, apart from what the peer's windows hold back.
    package var hasOutput: Bool {
        unsafe !ahead.isEmpty || nghttp2_session_want_write(session) != 0
    }

    /// Appends what is to be sent, up to a number of bytes or a frame more.
    package func write(upTo limit: Int, into output: inout [UInt8]) throws(HTTP2Fault) {
        let end = output.count + limit
        output += ahead
        ahead = []
        while output.count < end, try writeNext(into: &output) {}
    }

    /// Appends what nghttp2 sends next. Returns false if there is nothing.
    func writeNext(into output: inout [UInt8]) throws(HTTP2Fault) -> Bool {
        var data: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(session, &data)
        guard count >= 0 else { throw Self.fault(Int32(count)) }
        guard count > 0, let data = unsafe data else { return false }
        unsafe output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
        return true
    }
}
