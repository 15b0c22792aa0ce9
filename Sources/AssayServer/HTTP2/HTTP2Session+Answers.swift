import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Answers requests, in any order.
extension HTTP2Session {
    func form(of id: UInt64) -> any AnswerForm { self[format: id] }

    func answer(
        to id: UInt64, _ connection: Connection, _ appendAnswer: (inout [UInt8]) -> Void
    ) {
        guard let (stream, line) = stream(of: id), isOpen(id), connection.canWrite else { return }
        stream.didAnswer(id)
        guard line == 0 else {
            if stream.messages != nil {
                return answerMessage(line, of: stream, connection, appendAnswer)
            }
            return answer(line, of: stream, connection, appendAnswer)
        }
        var bytes: [UInt8] = []
        appendAnswer(&bytes)
        stream.isAnswered = true
        // What arrives from here on is dropped.
        if !stream.isComplete { drop(stream) }
        if case .rpc(let form) = stream.format.content, form.framing == .grpc,
            bytes.first != Self.firstOfHead
        {
            engine.answer(
                stream.number, HTTP2ResponseHead.grpc(form), body: bytes,
                trailers: HTTP2ResponseHead.grpcTrailers)
        } else {
            let head = HTTP2ResponseHead(bytes)
            engine.answer(stream.number, HTTP2Fields(head.fields), body: bytes, from: head.end)
        }
        touch(connection, answers: 1)
    }

    /// Answers share the memory of the document.
    func answer(to id: UInt64, document: [UInt8], _ connection: Connection) {
        guard let (stream, _) = stream(of: id), isOpen(id), connection.canWrite else { return }
        var format = stream.format
        let hasBody = !format.isHead
        format.isHead = true
        var bytes: [UInt8] = []
        HTTPResponse.append(document: document, format, at: time(connection), to: &bytes)
        stream.isAnswered = true
        if !stream.isComplete { drop(stream) }
        engine.answer(
            stream.number, HTTP2Fields(HTTP2ResponseHead(bytes).fields),
            body: hasBody ? document : [])
        touch(connection, answers: 1)
    }

    /// The first byte of a head of HTTP/1.1. A message of gRPC begins with its flags.
    private static let firstOfHead = UInt8(ascii: "H")

    /// Has the connection write at the end of the turn.
    func touch(_ connection: Connection, answers: Int) {
        unwrittenAnswers += answers
        connection.context.turns.touch(connection)
    }

    /// Writes what the peer's windows admit.
    func willFlush(_ connection: Connection) {
        guard engine.hasOutput else { return }
        connection.answer { output in
            // After a fault nothing can be said.
            try? engine.write(upTo: .max - output.count, into: &output)
            return unwrittenAnswers
        }
        unwrittenAnswers = 0
        let ended = engine.takeEvents()
        if !ended.isEmpty { didClose(ended, connection) }
        endIfDone(connection)
    }

    private func answerMessage(
        _ number: UInt64, of stream: HTTP2Stream, _ connection: Connection,
        _ appendAnswer: (inout [UInt8]) -> Void
    ) {
        var bytes: [UInt8] = []
        appendAnswer(&bytes)
        stream.messages?.didAnswer(number)
        append(bytes, to: stream, connection)
        endIfAnswered(stream, connection)
        // What is in flight is answered before the end of the connection.
        if case .final = end { endStreams(connection) }
    }

    // MARK: Batches

    func beginLines(_ id: UInt64, asksForBody: Bool, _ connection: Connection) {
        guard let (stream, _) = stream(of: id) else { return }
        var bytes: [UInt8] = []
        HTTPResponse.appendHeadOfLines(stream.format, at: time(connection), to: &bytes)
        stream.isAnswered = true
        stream.lines = HTTPResponseOrder()
        let fields = HTTP2Fields(HTTP2ResponseHead(bytes).fields)
        engine.answer(stream.number, fields, body: [], isOpen: true)
        touch(connection, answers: 1)
    }

    /// Takes the next line, or data of an incomplete one. Returns the bytes used.
    func takeLine(
        _ data: SlabBytes, _ stream: HTTP2Stream, _ format: HTTPResponseStyle, limit: Int,
        _ connection: Connection
    ) -> Int {
        let bytes = data.span
        var length = 0
        while length < bytes.count, bytes[length] != UInt8(ascii: "\n") { length += 1 }
        let isComplete = length < bytes.count
        guard stream.dataCount + length <= limit else {
            // The place of the next line is unknown.
            let plan = HTTPBodyPlan.lines(format, limit: limit)
            refuseLine(plan.problem(above: limit), stream, format, connection)
            return data.count
        }
        // Asked first: `hold` would refuse the request, whose answer has begun.
        guard connection.peer.admits(bodyOf: connection.heldBody + length) else {
            let problem = HTTPProblem(ResponseHead.memoryExhausted(stream.id))
            refuseLine(problem, stream, format, connection)
            return data.count
        }
        if length > 0 {
            hold(data.extracting(0..<length), stream, limit: limit, connection)
        }
        guard isComplete else { return data.count }
        connection.reading.use(1)
        answerLine(stream, format, connection)
        return length + 1
    }

    /// Refuses the line that is arriving, and with it the rest of the batch, whose answer ends.
    func refuseLine(
        _ problem: HTTPProblem, _ stream: HTTP2Stream, _ format: HTTPResponseStyle,
        _ connection: Connection
    ) {
        refuse(beginLine(stream, format), problem, connection)
        drop(stream)
        endLines(stream, connection)
    }

    private func beginLine(_ stream: HTTP2Stream, _ format: HTTPResponseStyle) -> UInt64 {
        guard let line = stream.lines?.begin(format) else { return stream.id }
        return line << 32 | stream.id
    }

    /// Has the line answered that has arrived. Empty lines have no answer.
    private func answerLine(
        _ stream: HTTP2Stream, _ format: HTTPResponseStyle, _ connection: Connection
    ) {
        var line: SlabBytes?
        update(stream) { line = $0.takeData() }
        guard var line, line.count > 0 else { return }
        if line.span[line.count - 1] == UInt8(ascii: "\r") {
            line = line.extracting(0..<line.count - 1)
            guard line.count > 0 else { return }
        }
        parse(line, as: .verify, beginLine(stream, format), connection)
    }

    func endLines(_ stream: HTTP2Stream, _ format: HTTPResponseStyle, _ connection: Connection) {
        answerLine(stream, format, connection)
        endLines(stream, connection)
    }

    /// Ends the answer after that to the last line.
    private func endLines(_ stream: HTTP2Stream, _ connection: Connection) {
        stream.hasLastLine = true
        guard stream.lines?.isEmpty == true else { return }
        engine.finish(stream.number)
        touch(connection, answers: 0)
    }

    private func answer(
        _ line: UInt64, of stream: HTTP2Stream, _ connection: Connection,
        _ appendAnswer: (inout [UInt8]) -> Void
    ) {
        var bytes: [UInt8] = []
        appendAnswer(&bytes)
        guard stream.lines?.isNext(line) == true else {
            stream.lines?.keep(bytes, for: line)
            return
        }
        let count = stream.lines?.didWriteNext(into: &bytes) ?? 0
        engine.append(bytes, to: stream.number)
        if stream.hasLastLine, stream.lines?.isEmpty == true { engine.finish(stream.number) }
        touch(connection, answers: count)
    }

    // MARK: The end of the connection

    func answerLast(_ head: ResponseHead, _ connection: Connection) {
        engine.end(head.status == .unavailable ? .noError : .protocolError)
        touch(connection, answers: 0)
    }

    func announceDrain(_ connection: Connection) {
        guard case .none = end else { return }
        end = .announced(connection.now)
        engine.announceEnd()
        // Its answer shows that the client knows.
        engine.ping()
        notifyWatchers(connection)
        touch(connection, answers: 0)
    }

    /// Takes no more streams: the client knows that the connection ends.
    func finish(_ connection: Connection) {
        end = .final
        engine.end()
        notifyWatchers(connection)
        endStreams(connection)
        touch(connection, answers: 0)
        endIfDone(connection)
    }
}
