import AssayModels
import CAssayProto

extension ResolveCall: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ResolveCall>) {
        unsafe assay__v1__resolve_call__init(message)
    }

    func fill(_ m: inout Assay__V1__ResolveCall, in arena: MessageArena) {
        unsafe m.n_items = items.count
        unsafe m.items = arena.messages(items)
        unsafe arena.set(&m.has_at, &m.at, at)
        if policy != EntitlementPolicy() { unsafe m.policy = arena.message(policy) }
        if expectations != .none { unsafe m.expectations = arena.message(expectations) }
        if returnsTypedPayloads {
            unsafe arena.set(&m.has_return_typed_payloads, &m.return_typed_payloads, true)
        }
        if returnsPayloadJSON {
            unsafe arena.set(&m.has_return_payload_json, &m.return_payload_json, true)
        }
    }

    init(_ m: Assay__V1__ResolveCall) throws(MessageError) {
        self.init(
            items: try unsafe models(m.items, count: m.n_items),
            at: unsafe read(m.has_at, m.at),
            policy: try unsafe read(m.policy) ?? EntitlementPolicy(),
            expectations: try unsafe read(m.expectations) ?? .none,
            returnsTypedPayloads: unsafe read(
                m.has_return_typed_payloads, m.return_typed_payloads) ?? false,
            returnsPayloadJSON: unsafe read(m.has_return_payload_json, m.return_payload_json)
                ?? false)
    }
}

extension ResolveCall.Item: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__EvidenceItem>) {
        unsafe assay__v1__evidence_item__init(message)
    }

    func fill(_ m: inout Assay__V1__EvidenceItem, in arena: MessageArena) {
        switch kind {
        case .detected: break
        case .named(let kind): unsafe arena.set(&m.has_kind, &m.kind, kind)
        case .unknown(let number):
            unsafe m.has_kind = 1
            unsafe m.kind = Assay__V1__EvidenceKind(rawValue: number)
        }
        unsafe arena.set(&m.has_length, &m.length, length)
        unsafe arena.set(&m.has_label, &m.label, label)
    }

    init(_ m: Assay__V1__EvidenceItem) throws(MessageError) {
        let kind: ResolveCall.Kind =
            if unsafe m.has_kind == 0 || m.kind.rawValue == 0 {
                .detected
            } else if let known = unsafe read(m.has_kind, m.kind) {
                .named(known)
            } else {
                unsafe .unknown(m.kind.rawValue)
            }
        self.init(
            kind, length: unsafe read(m.has_length, m.length) ?? 0,
            label: try unsafe read(m.has_label, m.label))
    }
}

extension EntitlementPolicy: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__EntitlementPolicy>) {
        unsafe assay__v1__entitlement_policy__init(message)
    }

    func fill(_ m: inout Assay__V1__EntitlementPolicy, in arena: MessageArena) {
        unsafe arena.set(&m.has_max_age_ms, &m.max_age_ms, maxAgeMilliseconds)
        if billingRetryLeniencyMilliseconds != 0 {
            unsafe arena.set(
                &m.has_billing_retry_leniency_ms, &m.billing_retry_leniency_ms,
                billingRetryLeniencyMilliseconds)
        }
        // Sorted, so that equal policies have equal bytes.
        let products = durations.sorted { $0.key < $1.key }.map(ProductDuration.init)
        unsafe m.n_durations = products.count
        unsafe m.durations = arena.messages(products)
        if !acceptsFamilySharing {
            unsafe arena.set(&m.has_refuse_family_sharing, &m.refuse_family_sharing, true)
        }
        unsafe arena.set(
            &m.has_expected_app_account_token, &m.expected_app_account_token,
            expectedAppAccountToken)
    }

    init(_ m: Assay__V1__EntitlementPolicy) throws(MessageError) {
        self.init()
        maxAgeMilliseconds = unsafe read(m.has_max_age_ms, m.max_age_ms)
        billingRetryLeniencyMilliseconds =
            unsafe read(m.has_billing_retry_leniency_ms, m.billing_retry_leniency_ms) ?? 0
        let products: [ProductDuration] = try unsafe models(m.durations, count: m.n_durations)
        for product in products { durations[product.productId] = product.milliseconds }
        acceptsFamilySharing =
            unsafe !(read(m.has_refuse_family_sharing, m.refuse_family_sharing) ?? false)
        expectedAppAccountToken = try unsafe read(
            m.has_expected_app_account_token, m.expected_app_account_token)
    }
}

/// One entry of `EntitlementPolicy.durations`.
private struct ProductDuration: @unsafe MessageFields {
    let productId: String
    let milliseconds: Int64

    init(_ entry: (key: String, value: Int64)) {
        (productId, milliseconds) = entry
    }

    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ProductDuration>) {
        unsafe assay__v1__product_duration__init(message)
    }

    func fill(_ m: inout Assay__V1__ProductDuration, in arena: MessageArena) {
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(&m.has_duration_ms, &m.duration_ms, milliseconds)
    }

    init(_ m: Assay__V1__ProductDuration) throws(MessageError) {
        productId = try unsafe required(read(m.has_product_id, m.product_id))
        milliseconds = try unsafe required(read(m.has_duration_ms, m.duration_ms))
    }
}

extension Resolution: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__Resolution>) {
        unsafe assay__v1__resolution__init(message)
    }

    func fill(_ m: inout Assay__V1__Resolution, in arena: MessageArena) {
        unsafe m.n_items = items.count
        unsafe m.items = arena.messages(items)
        unsafe m.entitlements = arena.message(entitlements)
    }

    init(_ m: Assay__V1__Resolution) throws(MessageError) {
        self.init(
            items: try unsafe models(m.items, count: m.n_items),
            entitlements: try unsafe required(read(m.entitlements)))
    }
}

extension ResolvedItem: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ResolvedItem>) {
        unsafe assay__v1__resolved_item__init(message)
    }

    func fill(_ m: inout Assay__V1__ResolvedItem, in arena: MessageArena) {
        unsafe arena.set(&m.has_label, &m.label, label)
        unsafe m.verification = arena.message(verification)
        if payloadJSONLength != 0 {
            unsafe arena.set(
                &m.has_payload_json_length, &m.payload_json_length, payloadJSONLength)
        }
    }

    init(_ m: Assay__V1__ResolvedItem) throws(MessageError) {
        self.init(
            label: try unsafe read(m.has_label, m.label),
            verification: try unsafe required(read(m.verification)),
            payloadJSONLength: unsafe read(m.has_payload_json_length, m.payload_json_length) ?? 0)
    }
}
