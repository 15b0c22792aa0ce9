import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Answers requests in their order.
extension HTTPSession {
    func form(of id: UInt64) -> any AnswerForm { responses[id] }

    func answer(
        to id: UInt64, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        let now = time(connection).seconds
        write(id, connection) { output, format in
            let start = output.count
            do throws(AnswerFault) {
                try appendResult(&output)
            } catch {
                output.removeLast(output.count - start)
                let response = format.response(to: HTTPProblem(error))
                return Self.append(response, format, at: now, to: &output)
            }
            guard !format.isLine else { return HTTP1Writer.makeChunk(from: start, in: &output) }
            HTTP1Writer.insertHead(
                of: format.response, at: start, closes: format.closes, at: now, into: &output)
        }
    }

    func answer(to id: UInt64, _ response: HTTPResponse, _ connection: Connection) {
        let now = time(connection).seconds
        write(id, connection) { Self.append(response, $1, at: now, to: &$0) }
    }

    func answer(to id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        answer(to: id, responses[id].response(to: problem), connection)
    }

    private static func append(
        _ response: HTTPResponse, _ format: HTTPResponseStyle, at now: Int64,
        to output: inout [UInt8]
    ) {
        guard format.isLine else {
            return HTTP1Writer.append(
                response, closes: format.closes, isHead: format.isHead, at: now, to: &output)
        }
        let start = output.count
        output += response.body
        HTTP1Writer.makeChunk(from: start, in: &output)
    }

    /// Writes the response to a request when its turn comes.
    func write(
        _ id: UInt64, _ connection: Connection,
        _ append: (inout [UInt8], HTTPResponseStyle) -> Void
    ) {
        let format = responses[id]
        guard !responses.isNext(id) else {
            return connection.answer { output in
                append(&output, format)
                return responses.didWriteNext(into: &output)
            }
        }
        guard connection.canWrite else { return }
        var response: [UInt8] = []
        append(&response, format)
        responses.keep(response, for: id)
        connection.updateBudget()
    }

    /// Rejects a request whose body is not worth reading further.
    func refuseAndEnd(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        responses[id].closes = true
        refuse(id, problem, connection)
        connection.end(nil)
    }

    /// Rejects bytes that are no request, and ends the connection.
    func refuse(_ fault: HTTPFault, _ connection: Connection) {
        connection.telemetry.logFault(fault.logReason)
        let id = lastId(connection)
        if responses.isOpen(id) { responses[id] = HTTPResponseStyle(closes: true) }
        refuse(id, HTTPProblem(fault), connection)
        connection.end(nil)
    }

    /// HTTP has no such message: the connection ends when it is idle.
    func announceDrain(_ connection: Connection) {}

    /// The last response of a connection that ends. None for an idle client, which would take it
    /// for the response to its next request.
    func answerLast(_ head: ResponseHead, _ connection: Connection) {
        guard head != .idle else { return }
        let id = lastId(connection)
        guard responses.isOpen(id) else { return }
        var problem = HTTPProblem(head, isArriving: true)
        // A connection-level error ends the stream, whatever its reason.
        if head.status == .unavailable { problem.status = 503 }
        answer(to: id, problem, connection)
    }

    /// The id of the arriving request, whose response ends the connection.
    private func lastId(_ connection: Connection) -> UInt64 {
        guard let id = current?.id else {
            return responses.begin(HTTPResponseStyle(closes: true))
        }
        if responses.isOpen(id) { responses[id].closes = true }
        return id
    }
}
