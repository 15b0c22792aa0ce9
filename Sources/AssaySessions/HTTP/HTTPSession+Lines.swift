import AssayHTTP
import AssayIO
import AssayService
import AssayWire

/// Answers a batch: each line is a request of its own, and its answer a line of the response, in
/// order. Nothing of a batch is held but the lines in flight.
extension HTTPSession {
    /// Writes the head of the response, before the first line arrives.
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

    /// Takes the next line, or the data of an incomplete one.
    func takeLine(
        _ count: Int, _ unread: SlabBytes, _ style: HTTPResponseStyle, limit: Int,
        _ connection: Connection
    ) {
        let data = unread.span
        var length = 0
        while length < count, data[length] != UInt8(ascii: "\n") { length += 1 }
        let isComplete = length < count
        guard connection.peer.admits(bodyOf: connection.heldBody) else {
            return refuseBody(connection)
        }
        guard collected.count + length <= limit else {
            // Where the next line begins is unknown.
            let plan = HTTPBodyPlan.lines(style, limit: limit)
            refuse(responses.begin(style), plan.problem(above: limit), connection)
            return connection.end(nil)
        }
        // A line that arrives whole is not copied.
        let line = isComplete && collected.isEmpty ? unread.extracting(0..<length) : nil
        if line == nil {
            beginRate(connection)
            collected.append(data.extracting(0..<length), limit: limit)
        }
        didTake(isComplete ? length + 1 : length, ofData: true, connection)
        guard isComplete else { return }
        connection.reading.use(1)
        answerLine(line, style, connection)
        // Each line has its own time to arrive.
        connection.beginPace(began: connection.now)
    }

    /// Ends the response after its last line.
    func endLines(_ style: HTTPResponseStyle, _ connection: Connection) {
        answerLine(nil, style, connection)
        let id = responses.begin(style)
        write(id, connection) { $0 += HTTP1Writer.lastChunk }
    }

    /// Has a line answered: the one that was collected, or another. Empty lines have no answer.
    private func answerLine(
        _ line: SlabBytes?, _ style: HTTPResponseStyle, _ connection: Connection
    ) {
        var bytes = line
        if line == nil {
            bytes = collected.take()
            bodyRate = nil
        }
        guard var bytes, bytes.count > 0 else { return }
        if bytes.span[bytes.count - 1] == UInt8(ascii: "\r") {
            bytes = bytes.extracting(0..<bytes.count - 1)
            guard bytes.count > 0 else { return }
        }
        parse(bytes, as: .verify, responses.begin(style), connection)
    }
}
