import Assay
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Decides by the head of a request what happens to its body.
extension RequestSession {
    /// How the answer to a request is written.
    func style(
        of head: HTTPHead, _ bytes: Span<UInt8>, _ target: HTTPTarget?, isHTTP2: Bool,
        from page: HTTPPage
    ) -> HTTPResponseStyle {
        var style = HTTPResponseStyle()
        style.framing.isHead = head.method == .head
        if let content = target?.content(head, bytes, isHTTP2: isHTTP2) {
            style.content = content
        } else if let type = head[.contentType],
            let form = RPCForm(.verify, type: bytes.extracting(type)), form.framing.hasTrailers,
            isHTTP2 || form.framing != .grpc
        {
            // A call that the server does not have.
            style.content = .rpc(form)
        }
        if case .purchase = style.content {
            style.correlationId =
                if let field = head[.correlationId] {
                    HTTPCorrelation.id(bytes.extracting(field))
                } else {
                    HTTPCorrelation.id(nil)
                }
        }
        if let field = head[.traceparent] {
            style.trace = TraceContext(bytes.extracting(field)).map {
                RequestTrace($0, via: RequestProtocol(head.method, style.content))
            }
        }
        style.origin = page.allowedOrigin
        return style
    }

    /// The page that possibly makes a request.
    func page(of head: HTTPHead, _ bytes: Span<UInt8>, _ connection: Connection) -> HTTPPage {
        HTTPPage(
            source: HTTPOriginPolicy.Source(head, bytes),
            policy: HTTPOriginPolicy(connection.context.settings.http, at: endpoint))
    }

    /// Decides what happens to the body of a request, and answers a request that needs none.
    ///
    /// - Parameter unread: bytes of the body that have arrived.
    func decide(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ target: HTTPTarget?, _ id: UInt64,
        from page: HTTPPage, unread: Int, _ connection: Connection
    ) -> HTTPBodyPlan {
        do throws(HTTPProblem) {
            // A probe has any name for the server, and learns nothing that is secret.
            let isProbe = target?.isHealth == true
            if let problem = page.problem(withHost: !isProbe) { throw problem }
            guard head.method != .connect else { throw .noProxy }
            if head.method == .options, bytes.extracting(head.path).equals("*") {
                answerOptions(methods: "GET, HEAD, POST, OPTIONS", id, connection)
                return .skip
            }
            guard let target else {
                guard head.method == .options, RPCMethod.isPath(bytes.extracting(head.path)) else {
                    throw .unknownPath(HTTPTarget.paths)
                }
                // A page learns the status of its call only if it can make it.
                answerOptions(
                    methods: "POST, OPTIONS", requestFields: RPCMethod.requestFields, id,
                    connection)
                return .skip
            }
            guard target.has(head.method) else { throw .wrongMethod(allow: target.methods) }
            guard head.method != .options else {
                answerOptions(
                    methods: target.methods, requestFields: target.requestFields, id, connection)
                return .skip
            }
            return try plan(head, bytes, target, id, unread: unread, connection)
        } catch {
            refuse(id, error, connection)
            return .skip
        }
    }

    private func plan(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ target: HTTPTarget, _ id: UInt64,
        unread: Int, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        switch target {
        case .route(let route):
            try plan(head, bytes, route, id, unread: unread, connection)
        case .method(let method): try plan(head, bytes, method, id, connection)
        }
    }

    /// Decides what happens to the body of a request. Answers a request that needs none.
    private func plan(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ route: HTTPRoute, _ id: UInt64,
        unread: Int, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        switch route {
        case .health:
            answer(.health, id, connection)
        case .info:
            answer(.info, id, connection)
        case .openAPI: answerDocument(id, connection)
        case .verifyReceipt, .sandboxVerifyReceipt:
            try checkEncoding(head, bytes)
            // Its clients send any Content-Type, or none.
            return try planReceipt(
                head, app: app(head, bytes), isSandbox: route == .sandboxVerifyReceipt, id,
                connection)
        case .purchase, .purchaseAlias:
            guard hasKeys(\.apiKeys, connection) else {
                throw HTTPProblem(404, .unimplemented, "no app entry has api-keys: the path is off")
            }
            let app = try appOfKey(head, bytes, \.apiKeys, connection)
            try checkEncoding(head, bytes)
            return try planJSON(head, .purchase(app: app), connection)
        case .batch: return try planLines(head, bytes, id, connection)
        case .entitlements:
            try checkJSON(head, bytes)
            return try plan(
                .resolve(app: try app(head, bytes), limit: connection.limits.httpJSONBytes), head)
        case .fetch:
            self[style: id].isFetch = true
            let app = try appOfFetchKey(head, bytes, connection)
            guard canFetch(for: app, connection) else {
                connection.answerAtOnce(
                    .fetch, .fetchNotConfigured(id), of: self[style: id].trace)
                return .skip
            }
            try checkJSON(head, bytes)
            guard head.query == nil else { throw .queryBesideJSON }
            return try plan(
                .fetch(
                    app: app,
                    limit: min(
                        ServerLimits.fetchEvidenceBytes, connection.limits.httpJSONBytes)), head)
        case .signPromotionalOffer, .signIntroductoryOffer, .signAdvancedCommerce,
            .signRetentionAnswer:
            let app = try appOfSigningKey(head, bytes, connection)
            try checkJSON(head, bytes)
            guard head.query == nil else { throw .queryBesideJSON }
            let limit = min(ServerLimits.httpSignBytes, connection.limits.httpJSONBytes)
            return try plan(
                planSignature(route.signature, app: app, limit: limit, connection), head)
        case .verify:
            try checkEncoding(head, bytes)
            guard let field = head[.contentType],
                let type = HTTPMediaType(bytes.extracting(field))
            else { throw .wrongType(HTTPMediaType.names) }
            guard head.body != .length(0) else { throw .emptyBody }
            switch type {
            case .json:
                guard let query = head.query else {
                    return try planJSON(head, .verify, connection)
                }
                guard let query = HTTPQuery(bytes.extracting(query)) else { throw .invalidQuery }
                return try planJSON(head, .evidence(HTTPParameters(query)), connection)
            case .evidence: return try planEvidence(head, bytes, id, unread: unread, connection)
            case .lines: throw .wrongType(HTTPMediaType.names)
            }
        }
        return .skip
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

    /// The app entry that the key of a Fetch chooses; nil where none is needed.
    func appOfFetchKey(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ connection: Connection
    ) throws(HTTPProblem) -> String? {
        guard hasKeys(\.fetchKeys, connection) else { return nil }
        return try appOfKey(head, bytes, \.fetchKeys, connection)
    }

    /// The app entry that the key of a request for a signature chooses.
    func appOfSigningKey(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ connection: Connection
    ) throws(HTTPProblem) -> String {
        guard hasKeys(\.signKeys, connection) else { throw .signingOff }
        return try appOfKey(head, bytes, \.signKeys, connection)
    }

    /// Whether an app entry has keys for a path.
    private func hasKeys(
        _ keys: KeyPath<AppSecrets, [String]>, _ connection: Connection
    ) -> Bool {
        connection.context.server.apps.values.contains {
            !$0.secrets[keyPath: keys].isEmpty
        }
    }

    /// Whether an app entry asks the App Store: this one, if its key chose it.
    func canFetch(for app: String?, _ connection: Connection) -> Bool {
        let apps = connection.context.server.apps
        if let app { return apps[app]?.fetcher != nil }
        return apps.values.contains { $0.fetcher != nil }
    }

    /// The app entry whose API key the request has. Keys of all entries are compared, so that the
    /// time does not depend on which one matches.
    private func appOfKey(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ keys: KeyPath<AppSecrets, [String]>,
        _ connection: Connection
    ) throws(HTTPProblem) -> String {
        let apps = connection.context.server.apps
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

    /// Answers a call that has no body.
    private func answer(_ call: RequestHead.Call, _ id: UInt64, _ connection: Connection) {
        connection.context.service.answer(
            Request(
                RequestHead(id: id, call: call), as: self[style: id],
                began: began(of: id, connection)),
            from: connection.flow)
    }

    private func planJSON(
        _ head: HTTPHead, _ schema: HTTPJSONBody.Schema, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        try plan(.json(schema, limit: connection.limits.httpJSONBytes), head)
    }

    /// A receipt in a body above the limit of JSON is verified as it arrives.
    private func planReceipt(
        _ head: HTTPHead, app: String, isSandbox: Bool, _ id: UInt64, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        guard case .length(let size) = head.body, size > connection.limits.httpJSONBytes else {
            return try planJSON(head, .apple(isSandbox: isSandbox, app: app), connection)
        }
        let question = HTTPParameters(
            VerifyReceiptQuery(isSandbox: isSandbox), app: app, kind: .appReceipt)
        // Only where the limits are set so that receipts stream above that of JSON.
        return try planStream(
            question.head(id, as: .appReceipt), bodyBytes: size, size: size,
            in: ReceiptEnvelope(), connection)
            ?? planJSON(head, .apple(isSandbox: isSandbox, app: app), connection)
    }

    /// Admits a receipt that is verified as it arrives, or returns nil.
    ///
    /// - Parameters:
    ///   - bodyBytes: by which it is admitted.
    ///   - size: the size of the body; 0 if it is not known.
    private func planStream(
        _ head: RequestHead, bodyBytes: Int, size: Int, in envelope: ReceiptEnvelope? = nil,
        detectsKind: Bool = false, _ connection: Connection
    ) -> HTTPBodyPlan? {
        let request = Request(
            head, as: self[style: head.id], began: began(of: head.id, connection))
        switch connection.context.service.begin(
            request, bodyBytes: bodyBytes, size: size, in: envelope, detectsKind: detectsKind,
            from: connection.flow)
        {
        case .refused: return .skip
        case .receipt(let arriving): return .receipt(arriving)
        case .whole, .resolve: return nil
        }
    }

    /// Returns the plan of a body that is read whole, unless its length exceeds the limit.
    private func plan(
        _ plan: HTTPBodyPlan, _ head: HTTPHead
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        if let limit = plan.limit, case .length(let length) = head.body, length > limit {
            throw plan.problem(above: limit)
        }
        return plan
    }

    private func planLines(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ id: UInt64, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        try checkEncoding(head, bytes)
        guard let field = head[.contentType],
            let type = HTTPMediaType(bytes.extracting(field)), type != .evidence
        else { throw .wrongType(HTTPMediaType.linesName) }
        guard head.body != .length(0) else { throw .emptyBody }
        guard !head.isOldVersion else {
            throw HTTPProblem(
                400, .invalidArgument, "a batch needs HTTP/1.1: its answer has chunks")
        }
        var style = self[style: id]
        style.framing.closes = !head.keepsAlive
        self[style: id] = style
        beginLines(id, asksForBody: head.expectsContinue, connection)
        style.framing.isLine = true
        return .lines(style, limit: connection.limits.httpJSONBytes)
    }

    /// Decides by the head of a request whether raw evidence is read at all, and whether it is
    /// verified as it arrives.
    private func planEvidence(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ id: UInt64, unread: Int,
        _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        guard let query = HTTPQuery(bytes.extracting(head.query ?? 0..<0)) else {
            throw .invalidQuery
        }
        let question = try HTTPParameters(query)
        self[style: id] = self[style: id].answering(question)
        let limit =
            question.kind.map { connection.context.service.bodyLimit(of: $0) }
            ?? EvidenceKind.largestByteLimit
        // The size of a chunked receipt is unknown: it is read like a large one.
        var size = question.kind == .appReceipt ? connection.limits.streamedReceiptBytes + 1 : 0
        if case .length(let length) = head.body { size = length }
        if size <= unread, head.body != .chunked {
            return .evidence(question, limit: limit)
        }
        // Evidence of an unknown kind is read whole, unless only a receipt can have its size.
        if question.kind == nil, size <= limit { return .evidence(question, limit: limit) }
        // Otherwise decided again when it is whole: the queue and the memory will have changed.
        return planStream(
            question.head(id, as: question.kind ?? .appReceipt), bodyBytes: size,
            size: head.body == .chunked ? 0 : size, detectsKind: question.kind == nil, connection)
            ?? .evidence(question, limit: limit)
    }

    /// Decides about evidence that turned out to be above the limit of what is read whole. Its
    /// first bytes name it, and a receipt of unknown kind is verified as it arrives.
    ///
    /// - Parameters:
    ///   - bytes: how many have arrived.
    ///   - size: the size of the body; 0 if it is not known.
    /// - Returns: nil if it is refused, and answered.
    func outgrown(
        _ question: HTTPParameters, _ id: UInt64, bytes: Int, size: Int, _ connection: Connection
    ) -> ArrivingReceipt? {
        let plan = planStream(
            question.head(id, as: question.kind ?? .appReceipt), bodyBytes: bytes, size: size,
            detectsKind: question.kind == nil, connection)
        switch plan {
        case .receipt(let receipt): return receipt
        case nil: refuse(id, .evidenceTooLarge(limit: bytes - 1), connection)
        default: break
        }
        return nil
    }
}
