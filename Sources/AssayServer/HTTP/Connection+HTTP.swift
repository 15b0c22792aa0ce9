import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Reads the requests of a connection that speaks HTTP, with the limits, the shares and the
/// admission of frames.
extension Connection {
    /// Takes one step. Returns false if it needs more bytes.
    func takeNext(_ http: HTTPSession, _ unread: SlabBytes) -> Bool {
        http.front == nil ? takeHead(http, unread) : takeBody(http, unread)
    }

    // MARK: Heads

    private func takeHead(_ http: HTTPSession, _ unread: SlabBytes) -> Bool {
        // A client of HTTP expects to wait, and not a refusal for what it pipelines.
        guard !isFull else {
            awaitsAnswer = true
            return false
        }
        let head: HTTPHead
        do throws(HTTPFault) {
            guard let next = try http.reader.next(in: unread.span) else {
                if context.budget.isFull, unread.count > limits.unansweredBytes {
                    end(.connectionMemoryExhausted)
                }
                return false
            }
            head = next
        } catch {
            refuse(error, http)
            return true
        }
        let route = HTTPRoute(unread.span.extracting(head.path))
        if route?.isLong == true, !context.turns.canAnswerAtLength {
            awaitsShare = true
            return false
        }
        let bytes = unread.extracting(0..<head.end)
        stream.received.skip(head.end)
        pace?.didTake(head.end)
        framesThisTurn += ServerLimits.turnShare(ofHTTPHead: head.end)
        begin(head, bytes, route, http)
        return true
    }

    /// Starts a request: decides what happens to its body, and answers what needs none.
    private func begin(
        _ head: HTTPHead, _ bytes: SlabBytes, _ route: HTTPRoute?, _ http: HTTPSession
    ) {
        var format = HTTPFormat()
        format.isHead = head.method == .head
        let body = HTTPBodyReader(head.body)
        // A client that waits for the interim response possibly never sends the body of a refused
        // request, and a long one is not worth reading.
        let endsIfRefused =
            head.expectsContinue || body.announced > ServerLimits.refusedBodyBytes
        format.closes = !head.keepsAlive || endsIfRefused
        let origins = HTTPOriginPolicy(context.server.settings.http, at: http.endpoint)
        let source = HTTPOriginPolicy.Source(head, bytes.span)
        if let route { format.content = route.content }
        if case .purchase = format.content {
            format.correlationId =
                if let field = head[.correlationId] {
                    HTTPCorrelation.id(bytes.span.extracting(field))
                } else {
                    HTTPCorrelation.id(nil)
                }
        }
        format.origin = origins.allowedOrigin(of: source)
        let id = http.begin(format)
        http.front = HTTPFront(
            id: id, body: body, plan: .skip, closes: !head.keepsAlive,
            isChunked: head.body == .chunked)
        do throws(HTTPProblem) {
            if let refusal = origins.problem(with: source) { throw refusal }
            guard let route else { throw .unknownPath(HTTPRoute.allCases.map(\.path)) }
            guard route.has(head.method) else { throw .wrongMethod(allow: route.methods) }
            if head.method == .options {
                answerOptions(of: route, id, http)
            } else {
                let plan = try plan(head, bytes.span, route, id, http)
                http.front?.plan = plan
            }
        } catch {
            refuse(id, error, http)
        }
        guard let front = http.front else { return }
        if front.body.isEnded { return complete(http) }
        if case .skip = front.plan {
            if endsIfRefused { end(nil) }
            return
        }
        guard http.isOpen(id) else { return }
        http.setCloses(front.closes, after: id)
        if head.expectsContinue, http.requestBody(of: id) {
            answer { output in
                output += HTTPResponse.interim
                return 0
            }
        }
    }

    /// Decides what happens to the body of a request. Answers a request that needs none.
    private func plan(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ route: HTTPRoute, _ id: UInt64,
        _ http: HTTPSession
    ) throws(HTTPProblem) -> HTTPPlan {
        switch route {
        case .health: call(RequestHead(id: id, call: .health))
        case .info: call(RequestHead(id: id, call: .info))
        case .openAPI: answerDocument(id, http)
        case .verifyReceipt, .sandboxVerifyReceipt:
            try checkEncoding(head, bytes)
            // Its clients send any Content-Type, or none.
            return try planReceipt(
                head, app: app(head, bytes), isSandbox: route == .sandboxVerifyReceipt, id)
        case .purchase, .purchaseAlias:
            guard hasKeys(\.apiKeys) else {
                throw HTTPProblem(404, .unimplemented, "no app entry has api-keys: the path is off")
            }
            let app = try appOfKey(head, bytes, \.apiKeys)
            try checkEncoding(head, bytes)
            return try planJSON(head, .purchase(app: app))
        case .batch: return try planLines(head, bytes, id, http)
        case .entitlements:
            try checkJSON(head, bytes)
            return .resolve(
                app: try app(head, bytes), limit: try checkLength(head))
        case .fetch:
            http.setIsFetch(of: id)
            let app = hasKeys(\.fetchKeys) ? try appOfKey(head, bytes, \.fetchKeys) : nil
            guard canFetch(for: app) else {
                answerAtOnce(.fetch, .fetchNotConfigured(id))
                return .skip
            }
            try checkJSON(head, bytes)
            guard head.query == nil else { throw .queryBesideJSON }
            return .fetch(app: app, limit: try checkLength(head, ServerLimits.httpFetchBytes))
        case .verify:
            try checkEncoding(head, bytes)
            guard let field = head[.contentType],
                let type = HTTPMediaType(bytes.extracting(field))
            else { throw .wrongType(HTTPMediaType.names) }
            guard head.body != .length(0) else { throw .emptyBody }
            switch type {
            case .json:
                guard head.query == nil else { throw .queryBesideJSON }
                return try planJSON(head, .verify)
            case .evidence: return try planEvidence(head, bytes, id, http)
            case .lines: throw .wrongType(HTTPMediaType.names)
            }
        }
        return .skip
    }

    /// Answers a call without evidence.
    private func call(_ head: RequestHead) {
        switch context.admission.admit(head, bodyBytes: 0, isWhole: true, from: self) {
        case .refused(let response): answerAtOnce(CallLabel(head.call), response)
        case .answer(let response): answerAtOnce(CallLabel(head.call), response)
        case .verify: break
        case .resolve: break
        case .fetch: break
        }
    }

    private func checkJSON(_ head: HTTPHead, _ bytes: Span<UInt8>) throws(HTTPProblem) {
        try checkEncoding(head, bytes)
        guard let field = head[.contentType],
            HTTPMediaType(bytes.extracting(field)) == .json
        else { throw .wrongType("application/json") }
        guard head.body != .length(0) else { throw .emptyBody }
    }

    private func checkEncoding(_ head: HTTPHead, _ bytes: Span<UInt8>) throws(HTTPProblem) {
        guard let encoding = head[.contentEncoding],
            !bytes.extracting(encoding).equalsLowercase("identity")
        else { return }
        throw .compressed
    }

    /// Whether an app entry has keys for a path.
    private func hasKeys(_ keys: KeyPath<AppSecrets, [String]>) -> Bool {
        context.server.settings.apps.values.contains { !$0.secrets[keyPath: keys].isEmpty }
    }

    /// Whether an app entry asks the App Store: this one, if its key chose it.
    private func canFetch(for app: String?) -> Bool {
        let apps = context.server.settings.apps
        if let app { return apps[app]?.fetcher != nil }
        return apps.values.contains { $0.fetcher != nil }
    }

    /// The app entry whose API key the request has. Keys of all entries are compared, so that the
    /// time does not depend on which one matches.
    private func appOfKey(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ keys: KeyPath<AppSecrets, [String]>
    ) throws(HTTPProblem) -> String {
        let apps = context.server.settings.apps
        let scheme = "bearer "
        guard let field = head[.authorization], field.count > scheme.utf8.count,
            case let value = bytes.extracting(field),
            value.extracting(..<scheme.utf8.count).equalsLowercase(scheme)
        else { throw .missingKey }
        let key = value.extracting(scheme.utf8.count...)
        var found: String?
        for (name, entry) in apps where entry.secrets.admits(apiKey: key, of: keys) { found = name }
        guard let found else { throw .invalidKey }
        return found
    }

    /// The app entry that the query of a request to Apple's endpoint names.
    private func app(_ head: HTTPHead, _ bytes: Span<UInt8>) throws(HTTPProblem) -> String {
        guard let query = HTTPQuery(bytes.extracting(head.query ?? 0..<0)) else {
            throw .invalidQuery
        }
        var app = ""
        for (name, value) in query.parameters {
            guard name == "app", app.isEmpty else { throw .invalidQuery }
            app = value
        }
        return app
    }

    private func planJSON(
        _ head: HTTPHead, _ form: HTTPJSONBody.Form
    ) throws(HTTPProblem) -> HTTPPlan {
        .json(form, limit: try checkLength(head))
    }

    /// A receipt in a body above the limit of JSON is verified as it arrives.
    private func planReceipt(
        _ head: HTTPHead, app: String, isSandbox: Bool, _ id: UInt64
    ) throws(HTTPProblem) -> HTTPPlan {
        guard case .length(let size) = head.body, size > limits.httpJSONBytes else {
            return try planJSON(head, .apple(isSandbox: isSandbox, app: app))
        }
        let question = HTTPQuestion(
            VerifyReceiptQuery(isSandbox: isSandbox), app: app, kind: .appReceipt)
        // Only where the limits are set so that receipts stream above that of JSON.
        guard
            let plan = planStream(
                question.head(id, as: .appReceipt), bodyBytes: size, size: size,
                in: ReceiptEnvelope())
        else { throw .bodyTooLarge(limit: limits.httpJSONBytes) }
        return plan
    }

    /// Admits a receipt that is verified as it arrives. Nil: it is not streamed.
    ///
    /// - Parameters:
    ///   - bodyBytes: by which it is admitted.
    ///   - size: the size of the body; 0 if it is not known.
    private func planStream(
        _ head: RequestHead, bodyBytes: Int, size: Int, in envelope: ReceiptEnvelope? = nil
    ) -> HTTPPlan? {
        switch context.admission.admit(head, bodyBytes: bodyBytes, isWhole: false, from: self) {
        case .refused(let refusal): answerAtOnce(.verify, refusal)
        case .verify(let admitted):
            guard admitted.isStreamed else { return nil }
            arriving = .receipt(ArrivingReceipt(admitted, size: size, in: envelope, at: now))
            didAdmit(head.id)
            return .receipt
        case .answer: break
        case .resolve: break
        case .fetch: break
        }
        return .skip
    }

    /// Returns the limit of a JSON body, which this one does not exceed.
    private func checkLength(
        _ head: HTTPHead, _ limit: Int = .max
    ) throws(HTTPProblem) -> Int {
        let limit = min(limit, limits.httpJSONBytes)
        if case .length(let length) = head.body, length > limit {
            throw .bodyTooLarge(limit: limit)
        }
        return limit
    }

    private func planLines(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ id: UInt64, _ http: HTTPSession
    ) throws(HTTPProblem) -> HTTPPlan {
        try checkEncoding(head, bytes)
        guard let field = head[.contentType],
            let type = HTTPMediaType(bytes.extracting(field)), type != .evidence
        else { throw .wrongType(HTTPMediaType.linesName) }
        guard head.body != .length(0) else { throw .emptyBody }
        guard !head.isOldVersion else {
            throw HTTPProblem(
                400, .invalidArgument, "a batch needs HTTP/1.1: its answer has chunks")
        }
        var format = http.format(of: id)
        format.closes = !head.keepsAlive
        http.setFormat(of: id, format)
        beginLines(id, asksForBody: head.expectsContinue, http)
        format.isLine = true
        return .lines(format, limit: limits.httpJSONBytes)
    }

    /// Decides by the head of a request whether raw evidence is read at all, and whether it is
    /// verified as it arrives.
    private func planEvidence(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ id: UInt64, _ http: HTTPSession
    ) throws(HTTPProblem) -> HTTPPlan {
        guard let query = HTTPQuery(bytes.extracting(head.query ?? 0..<0)) else {
            throw .invalidQuery
        }
        let question = try HTTPQuestion(query)
        http.setFormat(of: id, http.format(of: id).answering(question))
        // Evidence of an unknown kind is read whole, so it has the limit of those.
        guard let kind = question.kind else {
            let limit = max(limits.serverAnswerBytes, limits.notificationV1Bytes)
            if case .length(let length) = head.body, length > limit {
                throw .bodyTooLarge(limit: limit)
            }
            return .evidence(question, limit: limit)
        }
        let limit = context.admission.bodyLimit(of: kind)
        // The size of a chunked receipt is unknown: it is read like a large one.
        var size = kind == .appReceipt ? limits.streamedReceiptBytes + 1 : 0
        if case .length(let length) = head.body { size = length }
        if size <= stream.received.unreadCount, head.body != .chunked {
            return .evidence(question, limit: limit)
        }
        // Otherwise decided again when it is whole: the queue and the memory will have changed.
        return planStream(
            question.head(id, as: kind), bodyBytes: size, size: head.body == .chunked ? 0 : size)
            ?? .evidence(question, limit: limit)
    }
}
