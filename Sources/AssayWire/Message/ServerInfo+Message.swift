import AssayModels
import CAssayProto

extension ServerInfo: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(6, engine)
        output.set(5, proto)
        output.setEach(4, trustedRoots)
        output.set(3, limits)
        output.setPacked(2, kinds.map { UInt32(bitPattern: $0.rawValue) })
        output.set(1, version)
    }

    init(_ m: Assay__V1__ServerInfo) throws(MessageError) {
        var kinds: [EvidenceKind] = []
        for index in unsafe 0..<m.n_kinds {
            // Skips unknown kinds: this client can't request them.
            if let kind = unsafe read(1, m.kinds[index]) { kinds.append(kind) }
        }
        self.init(
            version: try unsafe read(m.has_version, m.version) ?? "", kinds: kinds,
            limits: try unsafe required(read(m.limits)),
            trustedRoots: try unsafe models(m.trusted_roots, count: m.n_trusted_roots),
            proto: try unsafe read(m.has_proto, m.proto) ?? "",
            engine: try unsafe read(m.has_engine, m.engine) ?? "")
    }
}

extension ServerInfo.Limits: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(8, resolveItems)
        output.set(7, notificationV1Bytes)
        output.set(6, serverAnswerBytes)
        output.set(5, requestsInFlight)
        output.set(4, notificationBytes)
        output.set(3, jwsBytes)
        output.set(2, headBytes)
        output.set(1, frameBytes)
    }

    init(_ m: Assay__V1__Limits) throws(MessageError) {
        self.init(
            frameBytes: unsafe read(m.has_frame_bytes, m.frame_bytes) ?? 0,
            headBytes: unsafe read(m.has_head_bytes, m.head_bytes) ?? 0,
            jwsBytes: unsafe read(m.has_jws_bytes, m.jws_bytes) ?? 0,
            notificationBytes: unsafe read(m.has_notification_bytes, m.notification_bytes) ?? 0,
            requestsInFlight: unsafe read(m.has_requests_in_flight, m.requests_in_flight) ?? 0,
            serverAnswerBytes: unsafe read(m.has_server_answer_bytes, m.server_answer_bytes) ?? 0,
            notificationV1Bytes: unsafe read(
                m.has_notification_v1_bytes, m.notification_v1_bytes) ?? 0,
            resolveItems: unsafe read(m.has_resolve_items, m.resolve_items) ?? 0)
    }
}

extension ServerInfo.TrustedRoot: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(4, development)
        output.set(3, notAfter)
        output.set(2, fingerprint)
        output.set(1, name)
    }

    init(_ m: Assay__V1__TrustedRoot) throws(MessageError) {
        self.init(
            name: try unsafe read(m.has_name, m.name) ?? "",
            fingerprint: try unsafe read(m.has_fingerprint, m.fingerprint) ?? "",
            notAfter: try unsafe required(read(m.has_not_after, m.not_after)),
            development: unsafe read(m.has_development, m.development) ?? false)
    }
}
