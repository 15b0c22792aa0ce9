import AssayHTTP
import AssayIO
import AssayWire

/// Answers a batch: each line is a request of its own, and its answer a line of the response, in
/// order. Nothing of a batch is held but the lines in flight.
extension Connection {
    /// Writes the head of the response, before the first line arrives.
    func beginLines(_ id: UInt64, asksForBody: Bool, _ http: HTTPSession) {
        let format = http.format(of: id)
        // Behind another response the client gets no interim one, and sends the body unasked.
        let isInterim = asksForBody && http.isNext(id)
        answer(to: id) { output in
            if isInterim { output += HTTPResponse.interim }
            HTTPResponse.appendHeadOfLines(
                format, at: context.server.fixed.clock(), to: &output)
        }
    }

    /// Takes the next line, or the data of an incomplete one.
    func takeLine(
        _ count: Int, _ unread: SlabBytes, _ format: HTTPFormat, limit: Int, _ http: HTTPSession
    ) {
        let data = unread.span
        var length = 0
        while length < count, data[length] != UInt8(ascii: "\n") { length += 1 }
        let isComplete = length < count
        guard context.budget.admits(bodyOf: heldBody) else { return refuseBody(http) }
        guard http.collected.count + length <= limit else {
            // The place of the next line is unknown.
            refuse(http.begin(format), .bodyTooLarge(limit: limit), http)
            return end(nil)
        }
        // A line that arrives whole is not copied.
        let line = isComplete && http.collected.isEmpty ? unread.extracting(0..<length) : nil
        if line == nil {
            beginRate(http)
            http.collected.append(data.extracting(0..<length), limit: limit)
        }
        didTake(isComplete ? length + 1 : length, ofData: true, http)
        guard isComplete else { return }
        framesThisTurn += 1
        answerLine(line, format, http)
        // Each line has its own time to arrive.
        beginPace(began: now)
    }

    /// Ends the response after its last line.
    func endLines(_ format: HTTPFormat, _ http: HTTPSession) {
        answerLine(nil, format, http)
        let id = http.begin(format)
        answer(to: id) { $0 += HTTPResponse.endOfLines }
    }

    /// Has a line answered: the one that was collected, or another. Empty lines have no answer.
    private func answerLine(_ line: SlabBytes?, _ format: HTTPFormat, _ http: HTTPSession) {
        var bytes = line
        if line == nil {
            bytes = http.collected.take()
            http.bodyRate = nil
        }
        guard var bytes, bytes.count > 0 else { return }
        if bytes.span[bytes.count - 1] == UInt8(ascii: "\r") {
            bytes = bytes.extracting(0..<bytes.count - 1)
            guard bytes.count > 0 else { return }
        }
        parse(bytes, as: .verify, http.begin(format), http)
    }
}
