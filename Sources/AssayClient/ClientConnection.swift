import AssayIO
import AssayWire

/// One connection and its calls in flight. Only the loop's thread uses it.
final class ClientConnection {
    enum State {
        case connecting
        case open
        /// The server takes no new requests, but still answers earlier ones.
        case draining
        case closed
    }

    /// The events that a connection reports to its channel.
    enum Event {
        case opened
        /// Bytes were written. There can be space for further requests.
        case wrote
        /// Answers arrived. There can be space for further requests.
        case received
        /// The server takes no new requests from now on.
        case drained
        /// The draining server refused this call.
        case notTaken(PendingCall)
        /// The last event of a connection.
        case ended(End)
    }

    enum End {
        case connectFailed(LoopError)
        case lost
        /// The server ended the connection with a frame of id 0.
        case refused(ClientError, retryAfterMilliseconds: UInt64)
        case violation(String)
        /// The loop closed the connection; no new connection is possible.
        case loopStopped
    }

    private(set) var state = State.connecting
    private(set) var inFlight: [UInt64: PendingCall] = [:]
    /// Whether the server has answered at least once.
    private(set) var hasAnswered = false
    /// The loop time at which an incomplete connection attempt fails.
    let connectDeadline: UInt64

    private var window: InFlightWindow
    private let loop: EventLoop
    private let limits: FrameLimits
    private let readsEvidence: Bool
    private let codec = MessageCodec()
    private let decoder = FrameDecoder(limits: .response)
    private var stream: Stream?
    private var handler: ((ClientConnection, Event) -> Void)?
    /// The frames that the stream does not have yet.
    private var output: [UInt8] = []
    /// A failure before `Stream.connect` returned.
    private var earlyFailure: LoopError?

    init(
        to endpoint: Endpoint, on loop: EventLoop, tls: TLSContext? = nil, limits: FrameLimits,
        window: InFlightWindow, readsEvidence: Bool = true,
        connectDeadline: UInt64, handler: @escaping (ClientConnection, Event) -> Void
    ) throws(LoopError) {
        self.window = window
        self.loop = loop
        self.limits = limits
        self.readsEvidence = readsEvidence
        self.connectDeadline = connectDeadline
        self.handler = handler
        let stream = try Stream.connect(to: endpoint, on: loop, tls: tls) { [self] event in
            didHappen(event)
        }
        self.stream = stream
        if let earlyFailure {
            stream.close()
            throw earlyFailure
        }
    }

    private func didHappen(_ event: Stream.Event) {
        guard state != .closed else { return }
        switch event {
        case .connected:
            state = .open
            handler?(self, .opened)
        case .received: receive()
        case .written: handler?(self, .wrote)
        case .ended: end(.lost)
        case .failed(let error):
            guard stream != nil else { return earlyFailure = error }
            end(state == .connecting || isRefusal(error) ? .connectFailed(error) : .lost)
        case .closed: end(.loopStopped)
        }
    }

    /// A server rejects a client certificate only after the client considers the connection open.
    private func isRefusal(_ error: LoopError) -> Bool {
        if case .tls = error { !hasAnswered } else { false }
    }

    /// Ends the connection. Its calls stay in `inFlight`; the channel decides about these.
    func end(_ end: End) {
        guard state != .closed else { return }
        state = .closed
        stream?.close()
        output = []
        let last = handler
        handler = nil
        last?(self, .ended(end))
    }

    // MARK: Sending

    /// Whether the connection takes a request now.
    var canSend: Bool {
        guard state == .open, inFlight.count < window.count, let stream else { return false }
        return output.count + stream.unwrittenCount < ClientLimits.unwrittenBytes
    }

    /// Adds a request to the output of this turn, and writes the output if there is much of it.
    func send(_ call: PendingCall) {
        let request = call.request
        guard request.body.count <= limits.frameBytes else {
            return call.end(.failure(.requestTooLarge))
        }
        let now = loop.now
        let left = call.deadline > now ? call.deadline - now : 1
        let head = RequestHead(
            id: call.id, call: request.call, app: request.app,
            timeoutMilliseconds: UInt32(clamping: left), mayWait: request.mayWait,
            trace: request.trace)
        let start = output.count
        codec.encodeFrame(head, body: request.body, into: &output)
        let length = output.count - start - 4
        let headBytes = length - 4 - request.body.count
        guard length <= limits.frameBytes, headBytes <= limits.headBytes else {
            output.removeSubrange(start...)
            return call.end(.failure(.requestTooLarge))
        }
        call.sent = now
        inFlight[call.id] = call
        if output.count >= ClientLimits.outputBytes { flush() }
    }

    /// Writes the output so far.
    func flush() {
        guard !output.isEmpty, state != .closed, let stream else { return }
        stream.write(output)
        // The stream has copied the bytes that the system did not take.
        output.removeAll(keepingCapacity: output.capacity <= ClientLimits.keptOutputBytes)
    }

    // MARK: Receiving

    private func receive() {
        guard let stream, let bytes = stream.received.unread else { return }
        var start = 0
        var expected = 0
        frames: while start < bytes.count {
            let rest = bytes.extracting(start..<bytes.count)
            switch decoder.next(in: rest.span) {
            case .frame(let frame):
                take(rest.extracting(frame.head), body: rest.extracting(frame.body))
                start += frame.end
                if state == .closed { return }
            case .needMore(let minimum):
                expected = minimum
                break frames
            case .head(let frame):
                expected = frame.end
                break frames
            case .fault(let fault):
                return end(.violation("\(fault)"))
            }
        }
        stream.received.skip(start)
        if expected > 0 { stream.received.expect(expected) }
        handler?(self, .received)
    }

    private func take(_ head: SlabBytes, body: SlabBytes) {
        let response: ResponseHead
        do throws(MessageError) {
            response = try codec.decodeResponse(head.span, withEvidence: readsEvidence)
        } catch {
            return end(.violation("\(error)"))
        }
        if response.id == ResponseHead.connectionId { return takeNotice(response) }
        let wasFull = inFlight.count >= window.count
        guard let call = inFlight.removeValue(forKey: response.id) else {
            return end(.violation("an answer to no request: id \(response.id)"))
        }
        hasAnswered = true
        switch response.status {
        case .ok:
            if call.request.measuresQueue {
                window.grow(after: loop.now - call.sent, wasFull: wasFull, at: loop.now)
            } else {
                window.grow()
            }
            call.end(.success(ClientAnswer(result: response.result, body: body.array)))
        case .deadlineExceeded: call.end(.failure(.deadlineExceeded))
        case .unavailable where state == .draining && call.canRetry && !call.isAbandoned:
            handler?(self, .notTaken(call))
        default:
            // Without a pause, the status is about the call and not about the server's load.
            if response.status == .resourceExhausted, response.retryAfterMilliseconds > 0 {
                window.shrink(at: loop.now)
            }
            call.end(.failure(ClientError(response)))
        }
    }

    /// Handles a frame with id 0, which applies to the whole connection.
    private func takeNotice(_ notice: ResponseHead) {
        guard notice.status == .unavailable else {
            return end(
                .refused(
                    ClientError(notice),
                    retryAfterMilliseconds: UInt64(notice.retryAfterMilliseconds)))
        }
        guard state == .open else { return }
        state = .draining
        handler?(self, .drained)
    }
}

extension ClientError {
    init(_ head: ResponseHead) {
        self.init(
            ServerStatus(
                head.status, message: head.message,
                retryAfterMilliseconds: head.retryAfterMilliseconds,
                appStoreErrorCode: head.appStoreErrorCode))
    }
}
