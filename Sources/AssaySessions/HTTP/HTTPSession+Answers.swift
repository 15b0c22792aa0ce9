import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Answers requests in their order.
extension HTTPSession {
    func answer(
        to id: UInt64, bytes: Int?, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        let (response, framing) = (responses[id].response, responses[id].framing)
        let now = time(connection).seconds
        write(id, connection) { output in
            let start = output.count
            // A large result is not moved to make space for its head.
            if let bytes, !framing.isLine {
                HTTP1Writer.appendHead(
                    of: response, length: bytes, closes: framing.closes, at: now, to: &output)
            }
            do throws(AnswerFault) {
                try appendResult(&output)
            } catch {
                output.removeLast(output.count - start)
                let response = responses[id].response(to: HTTPProblem(error))
                return Self.append(response, framing, at: now, to: &output)
            }
            guard !framing.isLine else { return HTTP1Writer.makeChunk(from: start, in: &output) }
            guard bytes == nil else { return }
            HTTP1Writer.insertHead(
                of: response, at: start, closes: framing.closes, at: now, into: &output)
        }
    }

    func answer(to id: UInt64, _ response: HTTPResponse, _ connection: Connection) {
        let now = time(connection).seconds
        let framing = responses[id].framing
        write(id, connection) { Self.append(response, framing, at: now, to: &$0) }
    }

    func answer(to id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        answer(to: id, responses[id].response(to: problem), connection)
    }

    private static func append(
        _ response: HTTPResponse, _ framing: HTTPFraming, at now: Int64,
        to output: inout [UInt8]
    ) {
        guard framing.isLine else {
            return HTTP1Writer.append(
                response, closes: framing.closes, isHead: framing.isHead, at: now, to: &output)
        }
        let start = output.count
        output += response.body
        HTTP1Writer.makeChunk(from: start, in: &output)
    }

    /// Writes the response to a request when its turn comes.
    func write(
        _ id: UInt64, _ connection: Connection, _ append: (inout [UInt8]) -> Void
    ) {
        guard !responses.isNext(id) else {
            return connection.answer { output in
                append(&output)
                return responses.didWriteNext(into: &output)
            }
        }
        guard connection.canWrite else { return }
        var response: [UInt8] = []
        append(&response)
        responses.keep(response, for: id)
        connection.updateBudget()
    }

    /// Rejects a request whose body is not worth reading further.
    func refuseAndEnd(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        responses[id].framing.closes = true
        refuse(id, problem, connection)
        connection.end(nil)
    }

    /// Rejects bytes that are no request, and ends the connection.
    func refuse(_ fault: HTTPFault, _ connection: Connection) {
        connection.telemetry.logFault(fault.logReason)
        let id = lastId(connection)
        if responses.isOpen(id) {
            let trace = responses[id].trace
            responses[id] = Self.last
            responses[id].trace = trace
        }
        refuse(id, HTTPProblem(fault), connection)
        connection.end(nil)
    }

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

    /// How a response is written after which the connection ends.
    private static let last = {
        var style = HTTPResponseStyle()
        style.framing.closes = true
        return style
    }()

    /// The id of the arriving request, whose response ends the connection.
    private func lastId(_ connection: Connection) -> UInt64 {
        guard let id = current?.id else {
            return responses.begin(Self.last)
        }
        if responses.isOpen(id) { responses[id].framing.closes = true }
        return id
    }
}
