import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Answers requests in their order.
extension HTTPSession {
    func form(of id: UInt64) -> any AnswerForm { responses[id] }

    private func time(_ connection: Connection) -> Timestamp {
        connection.context.server.fixed.clock()
    }

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

    /// Answers with JSON.
    func answer(_ json: [UInt8], to id: UInt64, _ connection: Connection) {
        let format = responses[id]
        answer(to: id, connection) { output in
            HTTPResponse.append(200, json: json, format, at: time(connection), to: &output)
        }
    }

    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ connection: Connection) {
        guard responses.isOpen(head.id) else { return }
        let format = responses[head.id]
        if case .rpc(let form) = format.content,
            let message = form.message(head.result, by: connection.context.codec)
        {
            return answer(to: head.id, connection) { output in
                HTTPResponse.append(message, form, format, at: time(connection), to: &output)
            }
        }
        switch head.result {
        case .health(let serving):
            let json: [UInt8] = Array(
                (serving ? #"{"status":"SERVING"}"# : #"{"status":"NOT_SERVING"}"#).utf8)
            answer(to: head.id, connection) { output in
                HTTPResponse.append(
                    serving ? 200 : 503, json: json, format, at: time(connection), to: &output)
            }
        case .info(let info):
            answer(to: head.id, connection) { output in
                HTTPResponse.append(200, json: info.json, format, at: time(connection), to: &output)
            }
        case .none, .verification, .pong, .resolution, .fetched:
            let problem = HTTPProblem(
                head, isArriving: front?.id == head.id, isFetch: format.isFetch)
            answer(to: head.id, connection) { output in
                HTTPResponse.append(problem, format, at: time(connection), to: &output)
            }
        }
    }

    /// Rejects a request for a reason that only HTTP has.
    func refuse(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        guard responses.isOpen(id) else { return }
        connection.telemetry.metrics.didAnswerAtOnce(.unknown, problem.head(id))
        let format = responses[id]
        if format.content.isApple { connection.telemetry.logRefusedReceipt(problem.detail) }
        answer(to: id, connection) { output in
            HTTPResponse.append(problem, format, at: time(connection), to: &output)
        }
    }

    /// Rejects a request whose body is not worth reading further.
    func refuseAndEnd(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        responses[id].closes = true
        refuse(id, problem, connection)
        connection.end(nil)
    }

    /// Rejects bytes that are no request, and ends the connection.
    func refuse(_ fault: HTTPFault, _ connection: Connection) {
        connection.telemetry.logFault("invalid HTTP request")
        let id = lastId(connection)
        if responses.isOpen(id) { responses[id] = HTTPFormat(closes: true) }
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
        guard let id = front?.id else {
            return responses.begin(HTTPFormat(closes: true))
        }
        if responses.isOpen(id) { responses[id].closes = true }
        return id
    }

    /// Answers with the OpenAPI document.
    func answerDocument(_ id: UInt64, _ connection: Connection) {
        let format = responses[id]
        connection.answerAtOnce(.info, ResponseHead(id: id)) {
            answer(to: id, connection) { output in
                HTTPResponse.append(
                    200, json: Self.document, format, at: time(connection), to: &output)
            }
        }
    }

    private static let document = Array(openAPIText.utf8).compactJSON

    /// Answers OPTIONS, and the question of a browser whether a page can make a request.
    func answerOptions(of target: HTTPTarget, _ id: UInt64, _ connection: Connection) {
        connection.telemetry.metrics.didAnswerAtOnce(.unknown, ResponseHead(id: id))
        let format = responses[id]
        var fields = "Allow: \(target.methods)\r\n"
        if format.origin != nil {
            fields +=
                "Access-Control-Allow-Methods: \(target.methods)\r\n"
                + "Access-Control-Allow-Headers: \(target.requestFields)\r\n"
        }
        answer(to: id, connection) { output in
            HTTPResponse.append(
                204, type: "", [], fields: fields, format, at: time(connection), to: &output)
        }
    }
}

extension ServerInfo {
    /// The JSON of `GET /v1/info`.
    fileprivate var json: [UInt8] {
        var writer = JSONWriter(capacity: 2048)
        writer.object { object in
            object.member("version", version)
            object.member("engine", engine)
            object.array("kinds") { list in
                for kind in kinds { list.value(kind.name) }
            }
            object.object("limits") { object in
                object.member("bodyBytes", Int64(limits.frameBytes))
                object.member("jwsBytes", Int64(limits.jwsBytes))
                object.member("notificationBytes", Int64(limits.notificationBytes))
                object.member("notificationV1Bytes", Int64(limits.notificationV1Bytes))
                object.member("serverAnswerBytes", Int64(limits.serverAnswerBytes))
                object.member("requestsInFlight", Int64(limits.requestsInFlight))
            }
            object.array("trustedRoots") { list in
                for root in trustedRoots {
                    list.object { object in
                        object.member("name", root.name)
                        object.member("sha256", root.fingerprint)
                        object.member("notAfter", root.notAfter.rfc3339)
                        object.member("development", root.development)
                    }
                }
            }
        }
        return writer.text
    }
}
