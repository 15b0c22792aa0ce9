import AssayModels
import CAssayProto

extension AppTransaction: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AppTransaction>) {
        unsafe assay__v1__app_transaction__init(message)
    }

    func fill(_ m: inout Assay__V1__AppTransaction, in arena: MessageArena) {
        unsafe arena.set(&m.has_receipt_type, &m.receipt_type, receiptType)
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_application_version, &m.application_version, applicationVersion)
        unsafe arena.set(
            &m.has_version_external_identifier, &m.version_external_identifier,
            versionExternalIdentifier)
        unsafe arena.set(
            &m.has_receipt_creation_date, &m.receipt_creation_date, receiptCreationDate)
        unsafe arena.set(
            &m.has_original_purchase_date, &m.original_purchase_date, originalPurchaseDate)
        unsafe arena.set(
            &m.has_original_application_version, &m.original_application_version,
            originalApplicationVersion)
        unsafe arena.set(&m.has_device_verification, &m.device_verification, deviceVerification)
        unsafe arena.set(
            &m.has_device_verification_nonce, &m.device_verification_nonce, deviceVerificationNonce)
        unsafe arena.set(&m.has_preorder_date, &m.preorder_date, preorderDate)
        unsafe arena.set(&m.has_app_transaction_id, &m.app_transaction_id, appTransactionId)
        unsafe arena.set(&m.has_original_platform, &m.original_platform, originalPlatform)
        unsafe arena.set(&m.has_request_date, &m.request_date, requestDate)
    }

    init(_ m: Assay__V1__AppTransaction) throws(MessageError) {
        self.init()
        receiptType = try unsafe read(m.has_receipt_type, m.receipt_type)
        appAppleId = unsafe read(m.has_app_apple_id, m.app_apple_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        applicationVersion = try unsafe read(m.has_application_version, m.application_version)
        versionExternalIdentifier = unsafe read(
            m.has_version_external_identifier, m.version_external_identifier)
        receiptCreationDate = unsafe read(m.has_receipt_creation_date, m.receipt_creation_date)
        originalPurchaseDate = unsafe read(m.has_original_purchase_date, m.original_purchase_date)
        originalApplicationVersion = try unsafe read(
            m.has_original_application_version, m.original_application_version)
        deviceVerification = try unsafe read(m.has_device_verification, m.device_verification)
        deviceVerificationNonce = try unsafe read(
            m.has_device_verification_nonce, m.device_verification_nonce)
        preorderDate = unsafe read(m.has_preorder_date, m.preorder_date)
        appTransactionId = try unsafe read(m.has_app_transaction_id, m.app_transaction_id)
        originalPlatform = try unsafe read(m.has_original_platform, m.original_platform)
        requestDate = unsafe read(m.has_request_date, m.request_date)
    }
}
