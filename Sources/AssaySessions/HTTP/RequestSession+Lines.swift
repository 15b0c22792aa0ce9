import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the lines of batches: each is a request of its own, and its answer a line of the response,
/// in order. Nothing of a batch is held but the lines in flight.
extension RequestSession {
    /// Takes the next line, or data of an incomplete one. Returns the bytes used.
    func takeLine(
        _ data: SlabBytes, _ style: HTTPResponseStyle, _ exchange: Arriving, limit: Int,
        _ connection: Connection
    ) -> Int {
        let bytes = data.span
        var length = 0
        while length < bytes.count, bytes[length] != UInt8(ascii: "\n") { length += 1 }
        let isComplete = length < bytes.count
        guard exchange.dataCount + length <= limit else {
            refuseLine(exchange.plan.problem(above: limit), style, exchange, connection)
            return data.count
        }
        guard admits(length, connection) else {
            let problem = HTTPProblem(ResponseHead.memoryExhausted(exchange.id))
            refuseLine(problem, style, exchange, connection)
            return data.count
        }
        if length > 0 {
            exchange.hold(data.extracting(0..<length), limit: limit, at: connection.now)
        }
        guard isComplete else { return data.count }
        connection.inlet.pay(for: .requests(1))
        answerLine(style, exchange, connection)
        return length + 1
    }

    /// Refuses the line that is arriving, and with it the rest of the batch: where the next line
    /// begins is unknown.
    func refuseLine(
        _ problem: HTTPProblem, _ style: HTTPResponseStyle, _ exchange: Arriving,
        _ connection: Connection
    ) {
        refuse(beginLine(style, of: exchange), problem, connection)
        drop(exchange)
        breakLines(exchange, connection)
    }

    /// Has the line answered that has arrived. Empty lines have no answer.
    func answerLine(
        _ style: HTTPResponseStyle, _ exchange: Arriving, _ connection: Connection
    ) {
        guard var line = exchange.takeData(), line.count > 0 else { return }
        if line.span[line.count - 1] == UInt8(ascii: "\r") {
            line = line.extracting(0..<line.count - 1)
            guard line.count > 0 else { return }
        }
        parse(line, as: .verify, beginLine(style, of: exchange), connection)
    }
}
