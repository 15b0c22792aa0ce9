import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Answers requests, in the form of each.
extension RequestSession {
    func time(_ connection: Connection) -> Timestamp {
        connection.context.server.fixed.clock()
    }

    /// Answers with JSON.
    func answer(_ json: [UInt8], to id: UInt64, _ connection: Connection) {
        let format = self[format: id]
        answer(to: id, connection) { output in
            HTTPResponse.append(200, json: json, format, at: time(connection), to: &output)
        }
    }

    /// Answers a call of the services with a message.
    func answer(_ message: [UInt8], _ form: RPCForm, to id: UInt64, _ connection: Connection) {
        let format = self[format: id]
        answer(to: id, connection) { output in
            HTTPResponse.append(message, form, format, at: time(connection), to: &output)
        }
    }

    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ connection: Connection) {
        guard isOpen(head.id) else { return }
        let format = self[format: head.id]
        if case .rpc(let form) = format.content,
            let message = form.message(head.result, by: connection.context.codec)
        {
            return answer(message, form, to: head.id, connection)
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
                head, isArriving: isArriving(head.id), isFetch: format.isFetch)
            answer(to: head.id, connection) { output in
                HTTPResponse.append(problem, format, at: time(connection), to: &output)
            }
        }
    }

    /// Rejects a request for a reason that only HTTP has.
    func refuse(_ id: UInt64, _ problem: HTTPProblem, _ connection: Connection) {
        guard isOpen(id) else { return }
        connection.telemetry.metrics.didAnswerAtOnce(.unknown, problem.head(id))
        let format = self[format: id]
        if format.content.isApple { connection.telemetry.logRefusedReceipt(problem.detail) }
        answer(to: id, connection) { output in
            HTTPResponse.append(problem, format, at: time(connection), to: &output)
        }
    }

    /// Answers with the OpenAPI document.
    func answerDocument(_ id: UInt64, _ connection: Connection) {
        guard connection.peer.admits(answer: openAPIDocument.count) else {
            return connection.answerAtOnce(.info, .memoryExhausted(id))
        }
        connection.answerAtOnce(.info, ResponseHead(id: id)) {
            answer(to: id, document: openAPIDocument, connection)
        }
    }

    func answer(to id: UInt64, document: [UInt8], _ connection: Connection) {
        let format = self[format: id]
        answer(to: id, connection) { output in
            HTTPResponse.append(document: document, format, at: time(connection), to: &output)
        }
    }

    /// Answers OPTIONS, and the question of a browser whether a page can make a request.
    ///
    /// - Parameter requestFields: those that a page can send; empty for the server as a whole.
    func answerOptions(
        methods: String, requestFields: String = "", _ id: UInt64, _ connection: Connection
    ) {
        connection.telemetry.metrics.didAnswerAtOnce(.unknown, ResponseHead(id: id))
        let format = self[format: id]
        var fields = "Allow: \(methods)\r\n"
        if format.origin != nil, !requestFields.isEmpty {
            fields +=
                "Access-Control-Allow-Methods: \(methods)\r\n"
                + "Access-Control-Allow-Headers: \(requestFields)\r\n"
        }
        answer(to: id, connection) { output in
            HTTPResponse.append(
                204, type: "", [], fields: fields, format, at: time(connection), to: &output)
        }
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
