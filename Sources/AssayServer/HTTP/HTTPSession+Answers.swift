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
        to id: UInt64, _ connection: Connection, _ appendAnswer: (inout [UInt8]) -> Void
    ) {
        guard !responses.isNext(id) else {
            return connection.answer { output in
                appendAnswer(&output)
                return responses.didWriteNext(into: &output)
            }
        }
        guard connection.canWrite else { return }
        var response: [UInt8] = []
        appendAnswer(&response)
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
        let format = responses[id]
        var problem = HTTPProblem(head, isArriving: true)
        // A connection-level error ends the stream, whatever its reason.
        if head.status == .unavailable { problem.status = 503 }
        answer(to: id, connection) { output in
            HTTPResponse.append(problem, format, at: time(connection), to: &output)
        }
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
