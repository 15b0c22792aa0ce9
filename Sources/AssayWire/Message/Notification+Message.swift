import AssayModels
import CAssayProto

extension ResponseBodyV2DecodedPayload: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ResponseBodyV2DecodedPayload>) {
        unsafe assay__v1__response_body_v2_decoded_payload__init(message)
    }

    func fill(_ m: inout Assay__V1__ResponseBodyV2DecodedPayload, in arena: MessageArena) {
        unsafe arena.set(&m.has_notification_type, &m.notification_type, notificationType)
        unsafe arena.set(&m.has_subtype, &m.subtype, subtype)
        unsafe arena.set(&m.has_notification_uuid, &m.notification_uuid, notificationUUID)
        unsafe m.data = arena.message(data)
        unsafe arena.set(&m.has_version, &m.version, version)
        unsafe arena.set(&m.has_signed_date, &m.signed_date, signedDate)
        unsafe m.summary = arena.message(summary)
        unsafe m.external_purchase_token = arena.message(externalPurchaseToken)
        unsafe m.app_data = arena.message(appData)
    }

    init(_ m: Assay__V1__ResponseBodyV2DecodedPayload) throws(MessageError) {
        self.init()
        notificationType = try unsafe read(m.has_notification_type, m.notification_type)
        subtype = try unsafe read(m.has_subtype, m.subtype)
        notificationUUID = try unsafe read(m.has_notification_uuid, m.notification_uuid)
        data = try unsafe read(m.data)
        version = try unsafe read(m.has_version, m.version)
        signedDate = unsafe read(m.has_signed_date, m.signed_date)
        summary = try unsafe read(m.summary)
        externalPurchaseToken = try unsafe read(m.external_purchase_token)
        appData = try unsafe read(m.app_data)
    }
}

extension NotificationData: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__NotificationData>) {
        unsafe assay__v1__notification_data__init(message)
    }

    func fill(_ m: inout Assay__V1__NotificationData, in arena: MessageArena) {
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_bundle_version, &m.bundle_version, bundleVersion)
        unsafe arena.set(
            &m.has_signed_transaction_info, &m.signed_transaction_info, signedTransactionInfo)
        unsafe arena.set(&m.has_signed_renewal_info, &m.signed_renewal_info, signedRenewalInfo)
        unsafe arena.set(&m.has_status, &m.status, status)
        unsafe arena.set(
            &m.has_consumption_request_reason, &m.consumption_request_reason,
            consumptionRequestReason)
    }

    init(_ m: Assay__V1__NotificationData) throws(MessageError) {
        self.init()
        environment = try unsafe read(m.has_environment, m.environment)
        appAppleId = unsafe read(m.has_app_apple_id, m.app_apple_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        bundleVersion = try unsafe read(m.has_bundle_version, m.bundle_version)
        signedTransactionInfo = try unsafe read(
            m.has_signed_transaction_info, m.signed_transaction_info)
        signedRenewalInfo = try unsafe read(m.has_signed_renewal_info, m.signed_renewal_info)
        status = unsafe read(m.has_status, m.status)
        consumptionRequestReason = try unsafe read(
            m.has_consumption_request_reason, m.consumption_request_reason)
    }
}

extension Summary: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__Summary>) {
        unsafe assay__v1__summary__init(message)
    }

    func fill(_ m: inout Assay__V1__Summary, in arena: MessageArena) {
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(&m.has_request_identifier, &m.request_identifier, requestIdentifier)
        unsafe m.storefront_country_codes = arena.strings(storefrontCountryCodes)
        unsafe arena.set(&m.has_succeeded_count, &m.succeeded_count, succeededCount)
        unsafe arena.set(&m.has_failed_count, &m.failed_count, failedCount)
    }

    init(_ m: Assay__V1__Summary) throws(MessageError) {
        self.init()
        environment = try unsafe read(m.has_environment, m.environment)
        appAppleId = unsafe read(m.has_app_apple_id, m.app_apple_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        productId = try unsafe read(m.has_product_id, m.product_id)
        requestIdentifier = try unsafe read(m.has_request_identifier, m.request_identifier)
        storefrontCountryCodes = try unsafe read(m.storefront_country_codes)
        succeededCount = unsafe read(m.has_succeeded_count, m.succeeded_count)
        failedCount = unsafe read(m.has_failed_count, m.failed_count)
    }
}

extension ExternalPurchaseToken: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ExternalPurchaseToken>) {
        unsafe assay__v1__external_purchase_token__init(message)
    }

    func fill(_ m: inout Assay__V1__ExternalPurchaseToken, in arena: MessageArena) {
        unsafe arena.set(&m.has_external_purchase_id, &m.external_purchase_id, externalPurchaseId)
        unsafe arena.set(&m.has_token_creation_date, &m.token_creation_date, tokenCreationDate)
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
    }

    init(_ m: Assay__V1__ExternalPurchaseToken) throws(MessageError) {
        self.init()
        externalPurchaseId = try unsafe read(m.has_external_purchase_id, m.external_purchase_id)
        tokenCreationDate = unsafe read(m.has_token_creation_date, m.token_creation_date)
        appAppleId = unsafe read(m.has_app_apple_id, m.app_apple_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
    }
}

extension AppData: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AppData>) {
        unsafe assay__v1__app_data__init(message)
    }

    func fill(_ m: inout Assay__V1__AppData, in arena: MessageArena) {
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(
            &m.has_signed_app_transaction_info, &m.signed_app_transaction_info,
            signedAppTransactionInfo)
    }

    init(_ m: Assay__V1__AppData) throws(MessageError) {
        self.init()
        appAppleId = unsafe read(m.has_app_apple_id, m.app_apple_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        environment = try unsafe read(m.has_environment, m.environment)
        signedAppTransactionInfo = try unsafe read(
            m.has_signed_app_transaction_info, m.signed_app_transaction_info)
    }
}
