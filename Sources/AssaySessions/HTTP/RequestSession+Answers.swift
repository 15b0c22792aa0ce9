import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Answers requests, in the form of each.
extension RequestSession {
    func time(_ connection: Connection) -> Timestamp {
        connection.context.server.clock()
    }

    /// Answers with JSON.
    func answer(_ json: [UInt8], to id: UInt64, _ connection: Connection) {
        answer(to: id, self[style: id].response(json: json), connection)
    }

    /// Answers a call of the services with a message.
    func answer(_ message: [UInt8], _ form: RPCForm, to id: UInt64, _ connection: Connection) {
        answer(to: id, bytes: nil, connection) { form.append(message, to: &$0) }
    }

    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ connection: Connection) {
        guard isOpen(head.id) else { return }
        let style = self[style: head.id]
        if case .rpc(let form) = style.content,
            let message = form.message(head.result, by: connection.context.codec)
        {
            return answer(message, form, to: head.id, connection)
        }
        switch head.result {
        case .health(let serving):
            let json = serving ? #"{"status":"SERVING"}"# : #"{"status":"NOT_SERVING"}"#
            let response = style.response(serving ? 200 : 503, json: Array(json.utf8))
            answer(to: head.id, response, connection)
        case .info(let info): answer(info.json, to: head.id, connection)
        case .none, .verification, .pong, .resolution, .fetched:
            let problem = HTTPProblem(
                head, isArriving: isArriving(head.id), isFetch: style.isFetch)
            answer(to: head.id, problem, connection)
        }
    }

    /// Rejects a request for a reason that only HTTP has.
    func refuse(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        guard isOpen(id) else { return }
        let style = self[style: id]
        connection.telemetry.didAnswerAtOnce(
            .unknown, problem.head(id), of: style.trace, arrived: connection.flow.arrived)
        if style.content.isApple {
            connection.telemetry.logRefusedReceipt(problem.detail)
        }
        answer(to: id, problem, connection)
    }

    /// Answers with the OpenAPI document.
    func answerDocument(_ id: UInt64, _ connection: Connection) {
        guard connection.peer.admits(answer: openAPIDocument.count) else {
            return connection.answerAtOnce(.info, .memoryExhausted(id), of: self[style: id].trace)
        }
        let style = self[style: id]
        connection.answerAtOnce(.info, ResponseHead(id: id), of: style.trace) {
            let document = style.response(200, HTTPMediaType.jsonName, body: openAPIDocument)
            answer(to: id, document, connection)
        }
    }

    /// Answers OPTIONS, including the preflight request of a browser (CORS).
    ///
    /// - Parameter requestFields: those that a page can send; empty for the server as a whole.
    func answerOptions(
        methods: String, requestFields: String = "", _ id: UInt64, _ connection: Connection
    ) {
        let style = self[style: id]
        connection.telemetry.didAnswerAtOnce(
            .unknown, ResponseHead(id: id), of: style.trace, arrived: connection.flow.arrived)
        var fields: [HTTPResponse.Field] = [("Allow", methods)]
        if style.origin != nil, !requestFields.isEmpty {
            fields.append(("Access-Control-Allow-Methods", methods))
            fields.append(("Access-Control-Allow-Headers", requestFields))
        }
        answer(to: id, style.response(204, nil, fields), connection)
    }
}

private let openAPIDocument = Array(openAPIText.utf8).compactJSON + "\n".utf8

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
