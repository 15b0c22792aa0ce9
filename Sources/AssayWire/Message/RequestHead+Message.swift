import AssayModels
import CAssayProto

extension RequestHead: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__RequestHead>) {
        unsafe assay__v1__request_head__init(message)
    }

    func fill(_ m: inout Assay__V1__RequestHead, in arena: MessageArena) {
        unsafe arena.set(&m.has_id, &m.id, id)
        if timeoutMilliseconds != 0 {
            unsafe arena.set(&m.has_timeout_ms, &m.timeout_ms, timeoutMilliseconds)
        }
        if !app.isEmpty { unsafe arena.set(&m.has_app, &m.app, app) }
        if mayWait { unsafe arena.set(&m.has_may_wait, &m.may_wait, true) }
        switch call {
        case .verify(let verify):
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_VERIFY
            unsafe m.verify = arena.message(verify)
        case .resolve(let resolve):
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_RESOLVE
            unsafe m.resolve = arena.message(resolve)
        case .fetch(let fetch):
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_FETCH
            unsafe m.fetch = arena.message(fetch)
        case .health:
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_HEALTH
            unsafe m.health = arena.allocate(Assay__V1__HealthCall.self)
            unsafe assay__v1__health_call__init(m.health)
        case .info:
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_INFO
            unsafe m.info = arena.allocate(Assay__V1__InfoCall.self)
            unsafe assay__v1__info_call__init(m.info)
        case .ping:
            unsafe m.call_case = ASSAY__V1__REQUEST_HEAD__CALL_PING
            unsafe m.ping = arena.allocate(Assay__V1__PingCall.self)
            unsafe assay__v1__ping_call__init(m.ping)
        case .unknown: break
        }
    }

    init(_ m: Assay__V1__RequestHead) throws(MessageError) {
        // Ignored, but valid UTF-8 like all text of the contract.
        let _: String? = try unsafe read(m.has_traceparent, m.traceparent)
        let call: Call
        switch unsafe m.call_case {
        case ASSAY__V1__REQUEST_HEAD__CALL_VERIFY:
            call = .verify(try unsafe required(read(m.verify)))
        case ASSAY__V1__REQUEST_HEAD__CALL_RESOLVE:
            call = .resolve(try unsafe required(read(m.resolve)))
        case ASSAY__V1__REQUEST_HEAD__CALL_FETCH:
            call = .fetch(try unsafe required(read(m.fetch)))
        case ASSAY__V1__REQUEST_HEAD__CALL_HEALTH: call = .health
        case ASSAY__V1__REQUEST_HEAD__CALL_INFO: call = .info
        case ASSAY__V1__REQUEST_HEAD__CALL_PING: call = .ping
        default: call = .unknown
        }
        self.init(
            id: unsafe read(m.has_id, m.id) ?? 0, call: call,
            app: try unsafe read(m.has_app, m.app) ?? "",
            timeoutMilliseconds: unsafe read(m.has_timeout_ms, m.timeout_ms) ?? 0,
            mayWait: unsafe read(m.has_may_wait, m.may_wait) ?? false)
    }
}

extension VerifyCall: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__VerifyCall>) {
        unsafe assay__v1__verify_call__init(message)
    }

    func fill(_ m: inout Assay__V1__VerifyCall, in arena: MessageArena) {
        unsafe arena.set(&m.has_kind, &m.kind, kind)
        if expectations != .none { unsafe m.expectations = arena.message(expectations) }
        if !returnsTypedPayload {
            unsafe arena.set(&m.has_omit_typed_payload, &m.omit_typed_payload, true)
        }
        if returnsPayloadJSON {
            unsafe arena.set(&m.has_return_payload_json, &m.return_payload_json, true)
        }
        if returnsVerifyReceiptJSON {
            unsafe arena.set(
                &m.has_return_verify_receipt_json, &m.return_verify_receipt_json, true)
        }
        if let selection = Assay__V1__InAppSelection(inApp) {
            unsafe m.has_in_app = 1
            unsafe m.in_app = selection
        }
        if case .product(let product) = inApp {
            unsafe arena.set(&m.has_in_app_product_id, &m.in_app_product_id, product)
        }
    }

    init(_ m: Assay__V1__VerifyCall) throws(MessageError) {
        self.init(
            kind: unsafe read(m.has_kind, m.kind),
            expectations: try unsafe read(m.expectations) ?? .none,
            returnsTypedPayload:
                unsafe !(read(m.has_omit_typed_payload, m.omit_typed_payload)
                ?? false),
            returnsPayloadJSON: unsafe read(m.has_return_payload_json, m.return_payload_json)
                ?? false,
            inApp: try unsafe InAppSelection(
                m.has_in_app != 0
                    ? m.in_app : ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_UNSPECIFIED,
                product: read(m.has_in_app_product_id, m.in_app_product_id)),
            returnsVerifyReceiptJSON: unsafe read(
                m.has_return_verify_receipt_json, m.return_verify_receipt_json) ?? false)
    }
}

extension Assay__V1__InAppSelection {
    /// Nil for `.all`, the default, which is not sent.
    fileprivate init?(_ selection: InAppSelection) {
        switch selection {
        case .all: return nil
        case .latest: self = ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_LATEST
        case .product: self = ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_PRODUCT
        case .none: self = ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_NONE
        }
    }
}

extension InAppSelection {
    /// Maps an unknown selection to all.
    fileprivate init(
        _ selection: Assay__V1__InAppSelection, product: String?
    ) throws(MessageError) {
        switch selection {
        case ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_LATEST: self = .latest
        case ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_NONE: self = .none
        case ASSAY__V1__IN_APP_SELECTION__IN_APP_SELECTION_PRODUCT:
            self = .product(try required(product))
        default: self = .all
        }
    }
}

extension MessageArena {
    func set(_ has: inout Int32, _ field: inout Assay__V1__EvidenceKind, _ kind: EvidenceKind?) {
        guard let kind else { return }
        has = 1
        field = Assay__V1__EvidenceKind(kind)
    }
}

extension Assay__V1__EvidenceKind {
    init(_ kind: EvidenceKind) { self.init(UInt32(bitPattern: kind.rawValue)) }
}

/// Returns nil if the field is absent, or its kind is unknown to this version.
func read(_ has: Int32, _ field: Assay__V1__EvidenceKind) -> EvidenceKind? {
    has != 0 ? EvidenceKind(rawValue: Int32(bitPattern: field.rawValue)) : nil
}
