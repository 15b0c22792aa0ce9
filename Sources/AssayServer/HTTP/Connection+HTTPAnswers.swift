import Assay
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Answers the requests of a connection that speaks HTTP, in their order.
extension Connection {
    private var time: Timestamp { context.server.fixed.clock() }

    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ http: HTTPSession) {
        guard http.isOpen(head.id) else { return }
        let format = http.format(of: head.id)
        switch head.result {
        case .health(let serving):
            let json: [UInt8] = Array(
                (serving ? #"{"status":"SERVING"}"# : #"{"status":"NOT_SERVING"}"#).utf8)
            answer(to: head.id) { output in
                HTTPResponse.append(serving ? 200 : 503, json: json, format, at: time, to: &output)
            }
        case .info(let info):
            answer(to: head.id) { output in
                HTTPResponse.append(200, json: info.json, format, at: time, to: &output)
            }
        case .none, .verification, .pong, .resolution, .fetched:
            let problem = HTTPProblem(
                head, isArriving: http.front?.id == head.id, isFetch: format.isFetch)
            answer(to: head.id) { output in
                HTTPResponse.append(problem, format, at: time, to: &output)
            }
        }
    }

    /// Rejects a request for a reason that only HTTP has.
    func refuse(_ id: UInt64, _ problem: HTTPProblem, _ http: HTTPSession) {
        guard http.isOpen(id) else { return }
        telemetry.metrics.didAnswerAtOnce(.unknown, problem.head(id))
        let format = http.format(of: id)
        if format.content.isApple { telemetry.logRefusedReceipt(problem.detail) }
        answer(to: id) { output in
            HTTPResponse.append(problem, format, at: time, to: &output)
        }
    }

    /// Rejects a request whose body is not worth reading further.
    func refuseAndEnd(_ id: UInt64, _ problem: HTTPProblem, _ http: HTTPSession) {
        http.setCloses(true, after: id)
        refuse(id, problem, http)
        end(nil)
    }

    /// Rejects bytes that are no request, and ends the connection.
    func refuse(_ fault: HTTPFault, _ http: HTTPSession) {
        telemetry.logFault("invalid HTTP request")
        let id = lastId(http)
        if http.isOpen(id) { http.setFormat(of: id, HTTPFormat(closes: true)) }
        refuse(id, HTTPProblem(fault), http)
        end(nil)
    }

    /// The last response of a connection that ends. None for an idle client, which would take it
    /// for the response to its next request.
    func answerLast(_ head: ResponseHead, _ http: HTTPSession) {
        guard head != .idle else { return }
        let id = lastId(http)
        guard http.isOpen(id) else { return }
        let format = http.format(of: id)
        var problem = HTTPProblem(head, isArriving: true)
        // A connection-level error ends the stream, whatever its reason.
        if head.status == .unavailable { problem.status = 503 }
        answer(to: id) { output in
            HTTPResponse.append(problem, format, at: time, to: &output)
        }
    }

    /// The id of the arriving request, whose response ends the connection.
    private func lastId(_ http: HTTPSession) -> UInt64 {
        guard let id = http.front?.id else {
            return http.begin(HTTPFormat(closes: true))
        }
        if http.isOpen(id) { http.setCloses(true, after: id) }
        return id
    }

    /// Answers with the OpenAPI document.
    func answerDocument(_ id: UInt64, _ http: HTTPSession) {
        let format = http.format(of: id)
        answerAtOnce(.info, to: id) { output in
            HTTPResponse.append(200, json: Self.document, format, at: time, to: &output)
        }
    }

    private static let document = Array(openAPIText.utf8).compactJSON

    /// Answers OPTIONS, and the question of a browser whether a page can make a request.
    func answerOptions(of route: HTTPRoute, _ id: UInt64, _ http: HTTPSession) {
        telemetry.metrics.didAnswerAtOnce(.unknown, ResponseHead(id: id))
        let format = http.format(of: id)
        var fields = "Allow: \(route.methods)\r\n"
        if format.origin != nil {
            fields +=
                "Access-Control-Allow-Methods: \(route.methods)\r\n"
                + "Access-Control-Allow-Headers: Content-Type, Authorization\r\n"
        }
        answer(to: id) { output in
            HTTPResponse.append(
                204, type: "", [], fields: fields, format, at: time, to: &output)
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
