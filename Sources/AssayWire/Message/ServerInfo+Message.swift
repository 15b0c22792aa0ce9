import AssayModels
import CAssayProto

extension ServerInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ServerInfo>) {
        unsafe assay__v1__server_info__init(message)
    }

    func fill(_ m: inout Assay__V1__ServerInfo, in arena: MessageArena) {
        unsafe arena.set(&m.has_version, &m.version, version)
        unsafe m.n_kinds = kinds.count
        unsafe m.kinds = arena.allocate(Assay__V1__EvidenceKind.self, count: kinds.count)
        for (index, kind) in kinds.enumerated() {
            unsafe (m.kinds + index).initialize(to: Assay__V1__EvidenceKind(kind))
        }
        unsafe m.limits = arena.message(limits)
        unsafe m.n_trusted_roots = trustedRoots.count
        unsafe m.trusted_roots = arena.messages(trustedRoots)
        unsafe arena.set(&m.has_proto, &m.proto, proto)
        unsafe arena.set(&m.has_engine, &m.engine, engine)
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

extension ServerInfo.Limits: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__Limits>) {
        unsafe assay__v1__limits__init(message)
    }

    func fill(_ m: inout Assay__V1__Limits, in arena: MessageArena) {
        unsafe arena.set(&m.has_frame_bytes, &m.frame_bytes, frameBytes)
        unsafe arena.set(&m.has_head_bytes, &m.head_bytes, headBytes)
        unsafe arena.set(&m.has_jws_bytes, &m.jws_bytes, jwsBytes)
        unsafe arena.set(&m.has_notification_bytes, &m.notification_bytes, notificationBytes)
        unsafe arena.set(&m.has_requests_in_flight, &m.requests_in_flight, requestsInFlight)
        unsafe arena.set(&m.has_server_answer_bytes, &m.server_answer_bytes, serverAnswerBytes)
        unsafe arena.set(
            &m.has_notification_v1_bytes, &m.notification_v1_bytes, notificationV1Bytes)
        unsafe arena.set(&m.has_resolve_items, &m.resolve_items, resolveItems)
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

extension ServerInfo.TrustedRoot: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__TrustedRoot>) {
        unsafe assay__v1__trusted_root__init(message)
    }

    func fill(_ m: inout Assay__V1__TrustedRoot, in arena: MessageArena) {
        unsafe arena.set(&m.has_name, &m.name, name)
        unsafe arena.set(&m.has_fingerprint, &m.fingerprint, fingerprint)
        unsafe arena.set(&m.has_not_after, &m.not_after, notAfter)
        unsafe arena.set(&m.has_development, &m.development, development)
    }

    init(_ m: Assay__V1__TrustedRoot) throws(MessageError) {
        self.init(
            name: try unsafe read(m.has_name, m.name) ?? "",
            fingerprint: try unsafe read(m.has_fingerprint, m.fingerprint) ?? "",
            notAfter: try unsafe required(read(m.has_not_after, m.not_after)),
            development: unsafe read(m.has_development, m.development) ?? false)
    }
}
