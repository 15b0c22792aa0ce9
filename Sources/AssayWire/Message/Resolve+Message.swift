import AssayModels
import CAssayProto

extension ResolveCall: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        if returnsPayloadJSON { output.set(6, true) }
        if returnsTypedPayloads { output.set(5, true) }
        if expectations != .none { output.set(4, expectations) }
        if policy != EntitlementPolicy() { output.set(3, policy) }
        output.set(2, at)
        output.setEach(1, items)
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

extension ResolveCall.Item: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(3, label)
        output.set(2, length)
        switch kind {
        case .detected: break
        case .named(let kind): output.set(1, kind)
        case .unknown(let number): output.set(1, number)
        }
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

extension EntitlementPolicy: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(7, knownAt)
        if renewalLeniencyMilliseconds != 0 { output.set(6, renewalLeniencyMilliseconds) }
        output.set(5, expectedAppAccountToken)
        if !acceptsFamilySharing { output.set(4, true) }
        // Sorted, so that equal policies have equal bytes.
        output.setEach(
            3,
            durations.sorted { $0.key < $1.key }.map { product, duration in
                ProductDuration(
                    productId: product, milliseconds: duration,
                    stacks: stackedProducts.contains(product))
            })
        if billingRetryLeniencyMilliseconds != 0 {
            output.set(2, billingRetryLeniencyMilliseconds)
        }
        output.set(1, maxAgeMilliseconds)
    }

    init(_ m: Assay__V1__EntitlementPolicy) throws(MessageError) {
        self.init()
        maxAgeMilliseconds = unsafe read(m.has_max_age_ms, m.max_age_ms)
        billingRetryLeniencyMilliseconds =
            unsafe read(m.has_billing_retry_leniency_ms, m.billing_retry_leniency_ms) ?? 0
        let products: [ProductDuration] = try unsafe models(m.durations, count: m.n_durations)
        for product in products {
            durations[product.productId] = product.milliseconds
            if product.stacks { stackedProducts.insert(product.productId) }
        }
        acceptsFamilySharing =
            unsafe !(read(m.has_refuse_family_sharing, m.refuse_family_sharing) ?? false)
        expectedAppAccountToken = try unsafe read(
            m.has_expected_app_account_token, m.expected_app_account_token)
        renewalLeniencyMilliseconds =
            unsafe read(m.has_renewal_leniency_ms, m.renewal_leniency_ms) ?? 0
        knownAt = unsafe read(m.has_known_at, m.known_at)
    }
}

/// One entry of `EntitlementPolicy.durations`.
private struct ProductDuration: WritableMessage, @unsafe ReadableMessage {
    let productId: String
    let milliseconds: Int64
    let stacks: Bool

    init(productId: String, milliseconds: Int64, stacks: Bool) {
        (self.productId, self.milliseconds, self.stacks) = (productId, milliseconds, stacks)
    }

    func write(to output: inout MessageWriter) {
        if stacks { output.set(3, true) }
        output.set(2, milliseconds)
        output.set(1, productId)
    }

    init(_ m: Assay__V1__ProductDuration) throws(MessageError) {
        productId = try unsafe required(read(m.has_product_id, m.product_id))
        milliseconds = try unsafe required(read(m.has_duration_ms, m.duration_ms))
        stacks = unsafe read(m.has_stacks, m.stacks) ?? false
    }
}

extension Resolution: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(2, entitlements)
        output.setEach(1, items)
    }

    init(_ m: Assay__V1__Resolution) throws(MessageError) {
        let items: [ResolvedItem] = try unsafe models(m.items, count: m.n_items)
        let entitlements: Entitlements = try unsafe required(read(m.entitlements))
        self.init(
            items: items,
            entitlements: entitlements.superseding(items))
    }
}

extension Entitlements {
    /// On the wire each item says whether it is superseded.
    func superseding(_ items: [ResolvedItem]) -> Entitlements {
        var entitlements = self
        entitlements.superseded = items.indices.filter { items[$0].isSuperseded }
        return entitlements
    }
}

extension ResolvedItem: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        write(item.identifiers, to: &output)
        if isSuperseded { output.set(4, true) }
        if payloadJSONLength != 0 { output.set(3, payloadJSONLength) }
        write(item.decision, to: &output)
        output.set(1, item.label)
    }

    private func write(_ identifiers: EvidenceIdentifiers, to output: inout MessageWriter) {
        output.set(9, identifiers.subtype)
        output.set(8, identifiers.notificationType)
        output.set(7, identifiers.appTransactionId)
        output.set(6, identifiers.appAccountToken)
        output.set(5, identifiers.originalTransactionId)
    }

    private func write(_ decision: Decision, to output: inout MessageWriter) {
        let end = output.count
        decision.verification.write(to: &output, withPayload: !omitsPayload)
        output.wrap(2, since: end)
    }

    init(_ m: Assay__V1__ResolvedItem) throws(MessageError) {
        var identifiers = EvidenceIdentifiers()
        identifiers.originalTransactionId = try unsafe read(
            m.has_original_transaction_id, m.original_transaction_id)
        identifiers.appAccountToken = try unsafe read(
            m.has_app_account_token, m.app_account_token)
        identifiers.appTransactionId = try unsafe read(
            m.has_app_transaction_id, m.app_transaction_id)
        identifiers.notificationType = try unsafe read(
            m.has_notification_type, m.notification_type)
        identifiers.subtype = try unsafe read(m.has_subtype, m.subtype)
        let item = EvidenceItem(
            try unsafe required(read(m.verification)), label: try unsafe read(m.has_label, m.label),
            identifiers: identifiers)
        self.init(
            item,
            payloadJSONLength: unsafe read(m.has_payload_json_length, m.payload_json_length) ?? 0,
            isSuperseded: unsafe read(m.has_is_superseded, m.is_superseded) ?? false)
    }
}
