import AssayIO

/// One connection of an `HTTPServer`: reads a request, waits for its answer, writes it, and goes
/// on. Used on its loop's thread.
///
/// Reads the next request once the system has taken the answer to the last one, so that a peer that
/// does not read fills no memory.
final class HTTPConnection {
    private enum Phase {
        /// Waits for a request, or reads its head.
        case head
        case body
        /// The site prepares the answer.
        case answering
        /// The system has not taken the whole answer yet.
        case writing
        /// The last answer is written; bytes of the peer are discarded.
        case finishing
        case closed
    }

    private let stream: AssayIO.Stream
    private let server: HTTPServer
    private var phase = Phase.head
    private var reader: HTTPHeadReader
    /// The request whose body arrives.
    private var arriving: ArrivingRequest?
    /// The number of the current request.
    private var number: UInt64 = 0
    /// Whether the connection ends after the answer to the current request.
    private var closes = false
    private var isHead = false
    private var hasEnded = false
    private var isProcessing = false
    /// When the request, or the writing of its answer, began, in nanoseconds.
    private var start: UInt64
    /// When the last byte passed, in nanoseconds.
    private var lastByte: UInt64

    init(_ stream: AssayIO.Stream, of server: HTTPServer) {
        self.stream = stream
        self.server = server
        var limits = server.limits.head
        limits.needsHost = server.origins.binding.needsHost
        reader = HTTPHeadReader(limits: limits)
        start = server.clock()
        lastByte = start
    }

    func begin() {
        stream.setHandler { [self] event in
            switch event {
            case .received:
                lastByte = server.clock()
                process()
            case .ended:
                hasEnded = true
                if phase == .head || phase == .body { close() }
            case .written:
                lastByte = server.clock()
                if phase == .writing { goOn() }
            case .failed: close()
            case .closed: didClose()
            case .connected: break
            }
        }
        stream.resumeReading()
    }

    func close() { stream.close() }

    private func didClose() {
        dropBody()
        phase = .closed
        server.didClose(self)
    }

    /// Closes past a time limit.
    func closeIfLate(at now: UInt64) {
        let isLate = now > start + server.limits.requestMilliseconds * 1_000_000
        let isIdle = now > lastByte + server.limits.idleMilliseconds * 1_000_000
        if phase != .answering, isLate || isIdle { close() }
    }

    // MARK: Reading

    private func process() {
        isProcessing = true
        defer { isProcessing = false }
        while phase == .head || phase == .body, let unread = stream.received.unread {
            do throws(HTTPFault) {
                guard try phase == .head ? takeHead(unread) : takeBody(unread) else { return }
            } catch {
                isHead = false
                refuse(error.status, error.description)
            }
        }
        if phase == .answering || phase == .writing { stream.pauseReading() }
    }

    /// Returns false if bytes are missing.
    private func takeHead(_ unread: SlabBytes) throws(HTTPFault) -> Bool {
        guard let head = try reader.next(in: unread.span) else { return false }
        let request = HTTPRequest(head, unread.span)
        stream.received.skip(head.end)
        closes = !head.keepsAlive || !server.limits.keepsAlive
        isHead = head.method == .head
        if let refusal = server.origins.refusal(of: request) {
            refuse(refusal.status, refusal.reason)
            return true
        }
        switch server.site.intake(of: request) {
        case .answer(let answer): sendLast(answer)
        case .body(let limit): takeIn(ArrivingRequest(request, head, limit: limit))
        }
        return true
    }

    /// Waits for the body of a request, or answers it.
    private func takeIn(_ request: ArrivingRequest) {
        guard !request.isComplete else { return pass(request) }
        guard !request.isTooLarge else { return refuse(tooLarge: request) }
        guard server.arrivingBodies < server.limits.bodies else {
            return sendLast(server.site.busy)
        }
        server.arrivingBodies += 1
        arriving = request
        phase = .body
        if request.awaitsInterim { stream.write(HTTP1Writer.interim) }
    }

    /// Returns false if bytes are missing.
    private func takeBody(_ unread: SlabBytes) throws(HTTPFault) -> Bool {
        switch try arriving!.next(in: unread.span) {
        case .needMore: return false
        case .framing(let count): stream.received.skip(count)
        case .data(let count):
            arriving!.append(unread.extracting(0..<count))
            stream.received.skip(count)
        case .end: break
        }
        if arriving!.isTooLarge {
            refuse(tooLarge: arriving!)
        } else if arriving!.isComplete, let request = dropBody() {
            pass(request)
        }
        return true
    }

    /// Ends the arriving body, and returns its request.
    @discardableResult private func dropBody() -> ArrivingRequest? {
        guard let request = arriving.take() else { return nil }
        server.arrivingBodies -= 1
        return request
    }

    private func refuse(tooLarge request: ArrivingRequest) {
        refuse(413, "the body has more bytes than the limit of \(request.limit)")
    }

    private func refuse(_ status: Int, _ reason: String) {
        sendLast(server.site.problem(status, reason))
    }

    // MARK: Answering

    private func pass(_ arrived: ArrivingRequest) {
        phase = .answering
        number += 1
        server.site.answer(arrived.complete, HTTPReply(self, number))
    }

    /// Answers a request without passing it on, and ends the connection.
    private func sendLast(_ answer: HTTPResponse) {
        dropBody()
        closes = true
        write(bytes(of: answer))
        finish()
    }

    func isAwaitingAnswer(_ number: UInt64) -> Bool {
        phase == .answering && number == self.number && !stream.isClosing
    }

    func bytes(of answer: HTTPResponse) -> [UInt8] {
        var bytes: [UInt8] = []
        HTTP1Writer.append(
            answer, closes: closes, isHead: isHead, at: SystemClock.wallMilliseconds / 1000,
            to: &bytes)
        return bytes
    }

    func write(_ bytes: [UInt8]) { stream.write(bytes) }

    /// The answer to the request that was passed on is complete.
    func didAnswer() {
        start = server.clock()
        lastByte = start
        if closes || hasEnded { return finish() }
        phase = .writing
        goOn()
    }

    /// Reads the next request if the system has taken the answer.
    private func goOn() {
        guard stream.unwrittenCount == 0 else { return }
        phase = .head
        start = server.clock()
        guard !isProcessing else { return }
        process()
        stream.compactReceived()
        if phase == .head || phase == .body { stream.resumeReading() }
    }

    private func finish() {
        phase = .finishing
        stream.finish(discarding: HTTPServerLimits.discardedBytes)
    }
}
