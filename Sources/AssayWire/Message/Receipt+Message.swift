import AssayModels
import CAssayProto

extension AppReceipt: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AppReceipt>) {
        unsafe assay__v1__app_receipt__init(message)
    }

    func fill(_ m: inout Assay__V1__AppReceipt, in arena: MessageArena) {
        unsafe arena.set(&m.has_receipt_type, &m.receipt_type, receiptType)
        unsafe arena.set(&m.has_adam_id, &m.adam_id, adamId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_application_version, &m.application_version, applicationVersion)
        unsafe arena.set(
            &m.has_original_application_version, &m.original_application_version,
            originalApplicationVersion)
        unsafe arena.set(
            &m.has_receipt_creation_date, &m.receipt_creation_date, receiptCreationDate)
        unsafe arena.set(&m.has_expiration_date, &m.expiration_date, expirationDate)
        unsafe arena.set(
            &m.has_original_purchase_date, &m.original_purchase_date, originalPurchaseDate)
        unsafe arena.set(&m.has_preorder_date, &m.preorder_date, preorderDate)
        unsafe arena.set(&m.has_download_id, &m.download_id, downloadId)
        unsafe arena.set(
            &m.has_version_external_identifier, &m.version_external_identifier,
            versionExternalIdentifier)
        unsafe arena.set(&m.has_age_rating, &m.age_rating, ageRating)
        unsafe arena.set(&m.has_opaque_value, &m.opaque_value, opaqueValue)
        unsafe arena.set(&m.has_sha1_hash, &m.sha1_hash, sha1Hash)
        unsafe arena.set(&m.has_bundle_id_octets, &m.bundle_id_octets, bundleIdOctets)
        unsafe m.n_in_app = inApp.count
        unsafe m.in_app = arena.messages(inApp)
        unsafe m.n_unknown_attributes = unknownAttributes.count
        unsafe m.unknown_attributes = arena.messages(unknownAttributes)
    }

    init(_ m: Assay__V1__AppReceipt) throws(MessageError) {
        self.init()
        receiptType = try unsafe read(m.has_receipt_type, m.receipt_type)
        adamId = unsafe read(m.has_adam_id, m.adam_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        applicationVersion = try unsafe read(m.has_application_version, m.application_version)
        originalApplicationVersion = try unsafe read(
            m.has_original_application_version, m.original_application_version)
        receiptCreationDate = unsafe read(m.has_receipt_creation_date, m.receipt_creation_date)
        expirationDate = unsafe read(m.has_expiration_date, m.expiration_date)
        originalPurchaseDate = unsafe read(m.has_original_purchase_date, m.original_purchase_date)
        preorderDate = unsafe read(m.has_preorder_date, m.preorder_date)
        downloadId = unsafe read(m.has_download_id, m.download_id)
        versionExternalIdentifier = unsafe read(
            m.has_version_external_identifier, m.version_external_identifier)
        ageRating = try unsafe read(m.has_age_rating, m.age_rating)
        opaqueValue = unsafe read(m.has_opaque_value, m.opaque_value) ?? []
        sha1Hash = unsafe read(m.has_sha1_hash, m.sha1_hash) ?? []
        bundleIdOctets = unsafe read(m.has_bundle_id_octets, m.bundle_id_octets) ?? []
        let purchases: [InAppPurchaseReceipt] = try unsafe models(
            UnsafeBufferPointer(start: m.in_app, count: m.n_in_app))
        for purchase in purchases { inApp.append(purchase) }
        unknownAttributes = try unsafe models(
            UnsafeBufferPointer(start: m.unknown_attributes, count: m.n_unknown_attributes))
    }
}

extension InAppPurchaseReceipt: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__InAppPurchaseReceipt>) {
        unsafe assay__v1__in_app_purchase_receipt__init(message)
    }

    func fill(_ m: inout Assay__V1__InAppPurchaseReceipt, in arena: MessageArena) {
        unsafe arena.set(&m.has_quantity, &m.quantity, quantity)
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(&m.has_transaction_id, &m.transaction_id, transactionId)
        unsafe arena.set(
            &m.has_original_transaction_id, &m.original_transaction_id, originalTransactionId)
        unsafe arena.set(&m.has_purchase_date, &m.purchase_date, purchaseDate)
        unsafe arena.set(
            &m.has_original_purchase_date, &m.original_purchase_date, originalPurchaseDate)
        unsafe arena.set(&m.has_expires_date, &m.expires_date, expiresDate)
        unsafe arena.set(&m.has_cancellation_date, &m.cancellation_date, cancellationDate)
        unsafe arena.set(
            &m.has_web_order_line_item_id, &m.web_order_line_item_id, webOrderLineItemId)
        unsafe arena.set(&m.has_is_trial_period, &m.is_trial_period, isTrialPeriod)
        unsafe arena.set(
            &m.has_is_in_intro_offer_period, &m.is_in_intro_offer_period, isInIntroOfferPeriod)
        unsafe arena.set(&m.has_promotional_offer_id, &m.promotional_offer_id, promotionalOfferId)
        unsafe arena.set(&m.has_cancellation_reason, &m.cancellation_reason, cancellationReason)
        unsafe arena.set(&m.has_item_id, &m.item_id, itemId)
        unsafe arena.set(&m.has_product_type, &m.product_type, productType?.rawValue)
        unsafe m.n_unknown_attributes = unknownAttributes.count
        unsafe m.unknown_attributes = arena.messages(unknownAttributes)
    }

    init(_ m: Assay__V1__InAppPurchaseReceipt) throws(MessageError) {
        self.init()
        quantity = unsafe read(m.has_quantity, m.quantity)
        productId = try unsafe read(m.has_product_id, m.product_id)
        transactionId = try unsafe read(m.has_transaction_id, m.transaction_id)
        originalTransactionId = try unsafe read(
            m.has_original_transaction_id, m.original_transaction_id)
        purchaseDate = unsafe read(m.has_purchase_date, m.purchase_date)
        originalPurchaseDate = unsafe read(m.has_original_purchase_date, m.original_purchase_date)
        expiresDate = unsafe read(m.has_expires_date, m.expires_date)
        cancellationDate = unsafe read(m.has_cancellation_date, m.cancellation_date)
        webOrderLineItemId = unsafe read(m.has_web_order_line_item_id, m.web_order_line_item_id)
        isTrialPeriod = unsafe read(m.has_is_trial_period, m.is_trial_period)
        isInIntroOfferPeriod = unsafe read(
            m.has_is_in_intro_offer_period, m.is_in_intro_offer_period)
        promotionalOfferId = try unsafe read(m.has_promotional_offer_id, m.promotional_offer_id)
        cancellationReason = unsafe read(m.has_cancellation_reason, m.cancellation_reason)
        itemId = unsafe read(m.has_item_id, m.item_id)
        productType = unsafe read(m.has_product_type, m.product_type)
            .map { InAppProductType(rawValue: $0) }
        unknownAttributes = try unsafe models(
            UnsafeBufferPointer(start: m.unknown_attributes, count: m.n_unknown_attributes))
    }
}

extension ReceiptAttribute: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ReceiptAttribute>) {
        unsafe assay__v1__receipt_attribute__init(message)
    }

    func fill(_ m: inout Assay__V1__ReceiptAttribute, in arena: MessageArena) {
        unsafe arena.set(&m.has_type, &m.type, type)
        unsafe arena.set(&m.has_version, &m.version, version)
        unsafe arena.set(&m.has_value, &m.value, value)
    }

    init(_ m: Assay__V1__ReceiptAttribute) throws(MessageError) {
        self.init(
            type: try unsafe required(read(m.has_type, m.type)),
            version: try unsafe required(read(m.has_version, m.version)),
            value: unsafe read(m.has_value, m.value) ?? [])
    }
}

extension TransactionReceipt: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__TransactionReceipt>) {
        unsafe assay__v1__transaction_receipt__init(message)
    }

    func fill(_ m: inout Assay__V1__TransactionReceipt, in arena: MessageArena) {
        unsafe m.n_members = members.count
        unsafe m.members = arena.messages(members)
        unsafe arena.set(&m.has_purchase_date, &m.purchase_date, purchaseDate)
        unsafe arena.set(
            &m.has_original_purchase_date, &m.original_purchase_date, originalPurchaseDate)
        unsafe arena.set(&m.has_expires_date, &m.expires_date, expiresDate)
        unsafe arena.set(&m.has_cancellation_date, &m.cancellation_date, cancellationDate)
        unsafe arena.set(
            &m.has_signature_version, &m.signature_version, Int32(signatureVersion))
        unsafe arena.set(&m.has_legacy_key, &m.legacy_key, legacyKey)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(
            &m.has_unsigned_environment, &m.unsigned_environment, unsignedEnvironment)
        unsafe arena.set(&m.has_unsigned_pod, &m.unsigned_pod, unsignedPod)
        unsafe arena.set(
            &m.has_unsigned_signing_status, &m.unsigned_signing_status, unsignedSigningStatus)
    }

    init(_ m: Assay__V1__TransactionReceipt) throws(MessageError) {
        let version: Int32 = try unsafe required(read(m.has_signature_version, m.signature_version))
        self.init(
            members: try unsafe models(UnsafeBufferPointer(start: m.members, count: m.n_members)),
            environment: try unsafe required(read(m.has_environment, m.environment)),
            signatureVersion: Int(version))
        purchaseDate = unsafe read(m.has_purchase_date, m.purchase_date)
        originalPurchaseDate = unsafe read(
            m.has_original_purchase_date, m.original_purchase_date)
        expiresDate = unsafe read(m.has_expires_date, m.expires_date)
        cancellationDate = unsafe read(m.has_cancellation_date, m.cancellation_date)
        legacyKey = unsafe read(m.has_legacy_key, m.legacy_key) ?? false
        unsignedEnvironment = try unsafe read(
            m.has_unsigned_environment, m.unsigned_environment)
        unsignedPod = try unsafe read(m.has_unsigned_pod, m.unsigned_pod)
        unsignedSigningStatus = try unsafe read(
            m.has_unsigned_signing_status, m.unsigned_signing_status)
    }
}

extension TransactionReceipt.Member: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__PurchaseInfoMember>) {
        unsafe assay__v1__purchase_info_member__init(message)
    }

    func fill(_ m: inout Assay__V1__PurchaseInfoMember, in arena: MessageArena) {
        unsafe arena.set(&m.has_name, &m.name, name)
        unsafe arena.set(&m.has_value, &m.value, value)
    }

    init(_ m: Assay__V1__PurchaseInfoMember) throws(MessageError) {
        self.init(
            name: try unsafe required(read(m.has_name, m.name)),
            value: try unsafe required(read(m.has_value, m.value)))
    }
}
