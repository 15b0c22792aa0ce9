import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Reads the bodies of requests.
extension HTTPSession {
    func takeBody(_ connection: Connection, _ unread: SlabBytes) -> Bool {
        guard let current else { return false }
        let step: HTTPBodyReader.Step
        do throws(HTTPFault) {
            step = try current.body.next(in: unread.span)
        } catch {
            refuse(error, connection)
            return true
        }
        switch step {
        case .needMore: return false
        case .end: complete(current, connection)
        case .framing(let count): takeFraming(count, of: current, connection)
        case .data(let count):
            responses.bodyHasBegun(of: current.id)
            return takeData(unread.extracting(0..<count), of: current, connection)
        }
        return true
    }

    private func takeFraming(_ count: Int, of current: HTTP1Exchange, _ connection: Connection) {
        connection.inlet.skip(count, didReadFraming())
        // Between the lines of a batch the client is idle, and not slow.
        if connection.inlet.isEmpty, current.dataCount == 0, current.plan.isLines {
            connection.inlet.endPace()
        }
        if current.plan.isSkip { didSkip(count, of: current, connection) }
        if current.body.isEnded { complete(current, connection) }
    }

    /// Takes data of a body. Returns false if it needs more bytes, or waits.
    private func takeData(
        _ data: SlabBytes, of current: HTTP1Exchange, _ connection: Connection
    ) -> Bool {
        let isLast = data.count == current.announced.map { $0 - current.arrived }
        if current.waitsInPlace {
            guard isLast else { return wait(for: current, connection) }
            let body = connection.inlet.take(data.count, .counted)
            complete(current, whole: body, connection)
            return true
        }
        guard let used = take(data, of: current, isLast: isLast, connection) else { return false }
        guard connection.isOpen else { return true }
        didTake(used, of: current, connection)
        // Each line has its own time to arrive.
        if current.plan.isLines, current.dataCount == 0 {
            connection.beginPace(began: connection.now)
        }
        if current.body.isEnded { complete(current, connection) } else { bodies.collect() }
        return true
    }

    /// Waits for the rest of a body, which stays in the receive buffer. Returns false, unless it
    /// refused the request.
    private func wait(for current: HTTP1Exchange, _ connection: Connection) -> Bool {
        guard connection.inlet.needs(httpBody: current.body.announced) else {
            refuseForMemory(current, connection)
            return true
        }
        current.beginRate(at: connection.now)
        return false
    }

    /// Drops data at the front that was used.
    func didTake(_ count: Int, of current: HTTP1Exchange, _ connection: Connection) {
        connection.inlet.skip(count, .counted)
        current.body.didTake(count)
        if current.plan.isSkip { didSkip(count, of: current, connection) }
    }

    /// Counts bytes of a body that were dropped, and ends the connection if it has too many: a body
    /// in chunks has no end of its own.
    private func didSkip(_ count: Int, of current: HTTP1Exchange, _ connection: Connection) {
        current.didSkip(count)
        guard current.skipped > ServerLimits.refusedBodyBytes else { return }
        connection.telemetry.logFault("a refused body does not end")
        self.current = nil
        connection.end(nil)
    }

    func drop(_ exchange: HTTP1Exchange) {
        exchange.plan = .skip
        exchange.removeData()
    }

    /// A body in chunks has no end that is known: the connection ends.
    func drop(
        _ exchange: HTTP1Exchange, tooLarge problem: HTTPProblem, _ connection: Connection
    ) {
        drop(exchange)
        if exchange.isChunked {
            refuseAndEnd(exchange.id, problem, connection)
        } else {
            refuse(exchange.id, problem, connection)
        }
    }

    /// Ends the request at the front, whose body has arrived.
    ///
    /// - Parameter body: the body, if nothing of it was used before.
    func complete(
        _ exchange: HTTP1Exchange, whole body: SlabBytes? = nil, _ connection: Connection
    ) {
        current = nil
        didEndBody(of: exchange, whole: body, connection)
        connection.telemetry.didReceive()
        connection.beginPace(began: connection.lastArrival)
        if exchange.closes { connection.end(nil) }
    }

    // MARK: Parts of a body

    /// Its answer waits for its end.
    func didEndReceipt(
        _ receipt: ArrivingReceipt, of exchange: HTTP1Exchange, _ connection: Connection
    ) {}

    /// Streams of messages are HTTP/2's.
    func takeMessages(
        _ data: SlabBytes, _ call: RPCCall, _ exchange: HTTP1Exchange, limit: Int,
        _ connection: Connection
    ) -> Int? { data.count }

    /// Writes the head of the response to a batch, before the first line arrives.
    func beginLines(_ id: UInt64, asksForBody: Bool, _ connection: Connection) {
        // Behind another response the client gets no interim one, and sends the body unasked.
        let isInterim = asksForBody && responses.isNext(id)
        let now = time(connection).seconds
        let style = responses[id]
        write(id, connection) { output in
            if isInterim { output += HTTP1Writer.interim }
            HTTP1Writer.appendHead(
                of: style.response(200, HTTPMediaType.linesName), length: nil,
                closes: style.framing.closes, at: now, to: &output)
        }
    }

    func beginLine(_ style: HTTPResponseStyle, of exchange: HTTP1Exchange) -> UInt64 {
        responses.begin(style)
    }

    func endLines(_ exchange: HTTP1Exchange, _ connection: Connection) {
        write(responses.begin(HTTPResponseStyle()), connection) { $0 += HTTP1Writer.lastChunk }
    }

    /// Without a last chunk the client knows that lines are missing.
    func breakLines(_ exchange: HTTP1Exchange, _ connection: Connection) { connection.end(nil) }
}
