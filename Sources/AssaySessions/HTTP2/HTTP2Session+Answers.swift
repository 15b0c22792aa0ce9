import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Answers requests, in any order.
extension HTTP2Session {
    func answer(
        to id: UInt64, bytes: Int?, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        guard isOpen(id), connection.canWrite else { return }
        var result: [UInt8] = []
        result.reserveCapacity(bytes ?? Self.usualAnswerBytes)
        do throws(AnswerFault) {
            try appendResult(&result)
        } catch {
            return answer(to: id, HTTPProblem(error), connection)
        }
        guard let stream = begin(id, result, connection) else { return }
        if case .rpc(let form) = stream.style.content, form.framing == .grpc {
            engine.answer(
                stream.number, .grpc(form), body: result, trailers: HTTP2Fields.grpcTrailers)
        } else {
            let head = HTTP2Fields(
                stream.style.response, length: result.count, at: time(connection).seconds)
            engine.answer(stream.number, head, body: result)
        }
        touch(connection, answers: 1)
    }

    /// The usual size of a transaction's typed fields.
    private static let usualAnswerBytes = 1024

    /// Answers share the memory of a document.
    func answer(to id: UInt64, _ response: HTTPResponse, _ connection: Connection) {
        guard isOpen(id), connection.canWrite,
            let stream = begin(id, response.body, connection)
        else { return }
        let head = HTTP2Fields(
            response, length: response.body.count, at: time(connection).seconds)
        engine.answer(stream.number, head, body: stream.style.framing.isHead ? [] : response.body)
        touch(connection, answers: 1)
    }

    func answer(to id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        let style = self[style: id]
        guard case .rpc(let form) = style.content, form.item != nil || form.framing == .grpc else {
            return answer(to: id, style.response(to: problem), connection)
        }
        let message = form.item == nil ? [] : form.body(form.message(problem))
        guard isOpen(id), connection.canWrite, let stream = begin(id, message, connection) else {
            return
        }
        // Trailers instead of a head.
        engine.answer(
            stream.number, .grpc(form, RPCStatus(problem.naming(style.trace))), body: [])
        touch(connection, answers: 1)
    }

    /// Begins an answer, and completes one to a line or a message, whose stream has a head.
    ///
    /// - Returns: the stream, whose head is next; nil without one.
    private func begin(
        _ id: UInt64, _ result: [UInt8], _ connection: Connection
    ) -> HTTP2Stream? {
        guard let (stream, part) = stream(of: id) else { return nil }
        guard part == 0 else {
            if stream.messages != nil {
                answerMessage(part, of: stream, connection, result)
            } else {
                answer(part, of: stream, connection, result)
            }
            return nil
        }
        stream.isAnswered = true
        // What arrives from here on is dropped.
        if !stream.isComplete { drop(stream) }
        return stream
    }

    /// Has the connection write at the end of the turn.
    func touch(_ connection: Connection, answers: Int) {
        unwrittenAnswers += answers
        connection.context.turns.touch(connection)
    }

    /// Writes what the peer's windows admit.
    func flush(_ connection: Connection) {
        guard engine.hasOutput else { return }
        connection.answer { output in
            // After a fault nothing can be said.
            try? engine.write(upTo: .max - output.count, into: &output)
            return unwrittenAnswers
        }
        unwrittenAnswers = 0
        didCloseStreams(connection)
        endIfDone(connection)
    }

    private func answerMessage(
        _ number: UInt64, of stream: HTTP2Stream, _ connection: Connection, _ bytes: [UInt8]
    ) {
        stream.messages?.didAnswer(number)
        append(bytes, to: stream, connection)
        endIfAnswered(stream, connection)
        // What is in flight is answered before the end of the connection.
        if case .final = end { endStreams(connection) }
    }

    // MARK: Batches

    func beginLines(_ id: UInt64, asksForBody: Bool, _ connection: Connection) {
        guard let (stream, _) = stream(of: id) else { return }
        stream.isAnswered = true
        stream.lines = HTTPResponseOrder()
        let head = HTTP2Fields(
            stream.style.response(200, HTTPMediaType.linesName), length: nil,
            at: time(connection).seconds)
        engine.answer(stream.number, head, body: [], isOpen: true)
        touch(connection, answers: 1)
    }

    func beginLine(_ style: HTTPResponseStyle, of stream: HTTP2Stream) -> UInt64 {
        guard let line = stream.lines?.begin(style) else { return stream.id }
        return line << 32 | stream.id
    }

    /// Ends the answer after that to the last line.
    func endLines(_ stream: HTTP2Stream, _ connection: Connection) {
        stream.hasLastPart = true
        guard stream.lines?.isEmpty == true else { return }
        engine.finish(stream.number)
        touch(connection, answers: 0)
    }

    func breakLines(_ stream: HTTP2Stream, _ connection: Connection) {
        endLines(stream, connection)
    }

    private func answer(
        _ line: UInt64, of stream: HTTP2Stream, _ connection: Connection, _ answer: [UInt8]
    ) {
        var bytes = answer
        guard stream.lines?.isNext(line) == true else {
            stream.lines?.keep(bytes, for: line)
            return
        }
        let count = stream.lines?.didWriteNext(into: &bytes) ?? 0
        engine.append(bytes, to: stream.number)
        if stream.hasLastPart, stream.lines?.isEmpty == true { engine.finish(stream.number) }
        touch(connection, answers: count)
    }

    // MARK: The end of the connection

    func end(_ stage: SessionEnd, _ connection: Connection) {
        switch stage {
        case .announced: announceDrain(connection)
        case .silent: endStreams(connection)
        case .refused(let head):
            engine.end(head.status == .unavailable ? .noError : .protocolError)
            touch(connection, answers: 0)
        case .stopped:
            bodies.collect()
            for stream in streams.values { dropReceipt(of: stream, connection) }
        }
    }

    private func announceDrain(_ connection: Connection) {
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
