import AssayModels
import CAssayProto

extension RequestHead: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        if case .fetch(let fetch) = call { output.set(11, fetch) }
        if case .resolve(let resolve) = call { output.set(10, resolve) }
        if mayWait { output.set(9, true) }
        switch call {
        case .verify(let verify): output.set(5, verify)
        case .health: output.setEmpty(6)
        case .info: output.setEmpty(7)
        case .ping: output.setEmpty(8)
        case .resolve, .fetch, .unknown: break
        }
        if !app.isEmpty { output.set(4, app) }
        output.set(3, trace?.text)
        if timeoutMilliseconds != 0 { output.set(2, timeoutMilliseconds) }
        output.set(1, id)
    }

    init(_ m: Assay__V1__RequestHead) throws(MessageError) {
        // Valid UTF-8 like all text of the contract, even if no trace has this text.
        let traceparent: String? = try unsafe read(m.has_traceparent, m.traceparent)
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
            mayWait: unsafe read(m.has_may_wait, m.may_wait) ?? false,
            trace: traceparent.flatMap { TraceContext($0) })
    }
}

extension VerifyCall: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        if returnsVerifyReceiptJSON { output.set(7, true) }
        if case .product(let product) = inApp { output.set(6, product) }
        if let selection = Assay__V1__InAppSelection(inApp) { output.set(5, selection.rawValue) }
        if returnsPayloadJSON { output.set(4, true) }
        if !returnsTypedPayload { output.set(3, true) }
        if expectations != .none { output.set(2, expectations) }
        output.set(1, kind)
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

/// Returns nil if the field is absent, or its kind is unknown to this version.
func read(_ has: Int32, _ field: Assay__V1__EvidenceKind) -> EvidenceKind? {
    has != 0 ? EvidenceKind(rawValue: Int32(bitPattern: field.rawValue)) : nil
}
