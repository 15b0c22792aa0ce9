import AssayModels
import CAssayProto

extension JWSTransactionDecodedPayload: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__JWSTransactionDecodedPayload>) {
        unsafe assay__v1__jwstransaction_decoded_payload__init(message)
    }

    func fill(_ m: inout Assay__V1__JWSTransactionDecodedPayload, in arena: MessageArena) {
        unsafe arena.set(
            &m.has_original_transaction_id, &m.original_transaction_id, originalTransactionId)
        unsafe arena.set(&m.has_transaction_id, &m.transaction_id, transactionId)
        unsafe arena.set(
            &m.has_web_order_line_item_id, &m.web_order_line_item_id, webOrderLineItemId)
        unsafe arena.set(&m.has_bundle_id, &m.bundle_id, bundleId)
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(
            &m.has_subscription_group_identifier, &m.subscription_group_identifier,
            subscriptionGroupIdentifier)
        unsafe arena.set(&m.has_purchase_date, &m.purchase_date, purchaseDate)
        unsafe arena.set(
            &m.has_original_purchase_date, &m.original_purchase_date, originalPurchaseDate)
        unsafe arena.set(&m.has_expires_date, &m.expires_date, expiresDate)
        unsafe arena.set(&m.has_quantity, &m.quantity, quantity)
        unsafe arena.set(&m.has_type, &m.type, type)
        unsafe arena.set(&m.has_app_account_token, &m.app_account_token, appAccountToken)
        unsafe arena.set(&m.has_in_app_ownership_type, &m.in_app_ownership_type, inAppOwnershipType)
        unsafe arena.set(&m.has_signed_date, &m.signed_date, signedDate)
        unsafe arena.set(&m.has_revocation_reason, &m.revocation_reason, revocationReason)
        unsafe arena.set(&m.has_revocation_date, &m.revocation_date, revocationDate)
        unsafe arena.set(&m.has_is_upgraded, &m.is_upgraded, isUpgraded)
        unsafe arena.set(&m.has_offer_type, &m.offer_type, offerType)
        unsafe arena.set(&m.has_offer_identifier, &m.offer_identifier, offerIdentifier)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(&m.has_storefront, &m.storefront, storefront)
        unsafe arena.set(&m.has_storefront_id, &m.storefront_id, storefrontId)
        unsafe arena.set(&m.has_transaction_reason, &m.transaction_reason, transactionReason)
        unsafe arena.set(&m.has_currency, &m.currency, currency)
        unsafe arena.set(&m.has_price, &m.price, price)
        unsafe arena.set(&m.has_offer_discount_type, &m.offer_discount_type, offerDiscountType)
        unsafe arena.set(&m.has_app_transaction_id, &m.app_transaction_id, appTransactionId)
        unsafe arena.set(&m.has_offer_period, &m.offer_period, offerPeriod)
        unsafe arena.set(&m.has_revocation_type, &m.revocation_type, revocationType)
        unsafe arena.set(
            &m.has_revocation_percentage, &m.revocation_percentage, revocationPercentage)
        unsafe m.advanced_commerce_info = arena.message(advancedCommerceInfo)
        unsafe arena.set(&m.has_billing_plan_type, &m.billing_plan_type, billingPlanType)
        unsafe m.commitment_info = arena.message(commitmentInfo)
        unsafe arena.set(&m.has_device_verification, &m.device_verification, deviceVerification)
        unsafe arena.set(
            &m.has_device_verification_nonce, &m.device_verification_nonce,
            deviceVerificationNonce)
    }

    init(_ m: Assay__V1__JWSTransactionDecodedPayload) throws(MessageError) {
        self.init()
        originalTransactionId = try unsafe read(
            m.has_original_transaction_id, m.original_transaction_id)
        transactionId = try unsafe read(m.has_transaction_id, m.transaction_id)
        webOrderLineItemId = try unsafe read(m.has_web_order_line_item_id, m.web_order_line_item_id)
        bundleId = try unsafe read(m.has_bundle_id, m.bundle_id)
        productId = try unsafe read(m.has_product_id, m.product_id)
        subscriptionGroupIdentifier = try unsafe read(
            m.has_subscription_group_identifier, m.subscription_group_identifier)
        purchaseDate = unsafe read(m.has_purchase_date, m.purchase_date)
        originalPurchaseDate = unsafe read(m.has_original_purchase_date, m.original_purchase_date)
        expiresDate = unsafe read(m.has_expires_date, m.expires_date)
        quantity = unsafe read(m.has_quantity, m.quantity)
        type = try unsafe read(m.has_type, m.type)
        appAccountToken = try unsafe read(m.has_app_account_token, m.app_account_token)
        inAppOwnershipType = try unsafe read(m.has_in_app_ownership_type, m.in_app_ownership_type)
        signedDate = unsafe read(m.has_signed_date, m.signed_date)
        revocationReason = unsafe read(m.has_revocation_reason, m.revocation_reason)
        revocationDate = unsafe read(m.has_revocation_date, m.revocation_date)
        isUpgraded = unsafe read(m.has_is_upgraded, m.is_upgraded)
        offerType = unsafe read(m.has_offer_type, m.offer_type)
        offerIdentifier = try unsafe read(m.has_offer_identifier, m.offer_identifier)
        environment = try unsafe read(m.has_environment, m.environment)
        storefront = try unsafe read(m.has_storefront, m.storefront)
        storefrontId = try unsafe read(m.has_storefront_id, m.storefront_id)
        transactionReason = try unsafe read(m.has_transaction_reason, m.transaction_reason)
        currency = try unsafe read(m.has_currency, m.currency)
        price = unsafe read(m.has_price, m.price)
        offerDiscountType = try unsafe read(m.has_offer_discount_type, m.offer_discount_type)
        appTransactionId = try unsafe read(m.has_app_transaction_id, m.app_transaction_id)
        offerPeriod = try unsafe read(m.has_offer_period, m.offer_period)
        revocationType = try unsafe read(m.has_revocation_type, m.revocation_type)
        revocationPercentage = unsafe read(m.has_revocation_percentage, m.revocation_percentage)
        advancedCommerceInfo = try unsafe read(m.advanced_commerce_info)
        billingPlanType = try unsafe read(m.has_billing_plan_type, m.billing_plan_type)
        commitmentInfo = try unsafe read(m.commitment_info)
        deviceVerification = try unsafe read(m.has_device_verification, m.device_verification)
        deviceVerificationNonce = try unsafe read(
            m.has_device_verification_nonce, m.device_verification_nonce)
    }
}

extension TransactionCommitmentInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__TransactionCommitmentInfo>) {
        unsafe assay__v1__transaction_commitment_info__init(message)
    }

    func fill(_ m: inout Assay__V1__TransactionCommitmentInfo, in arena: MessageArena) {
        unsafe arena.set(
            &m.has_billing_period_number, &m.billing_period_number, billingPeriodNumber)
        unsafe arena.set(
            &m.has_commitment_expires_date, &m.commitment_expires_date, commitmentExpiresDate)
        unsafe arena.set(&m.has_commitment_price, &m.commitment_price, commitmentPrice)
        unsafe arena.set(
            &m.has_total_billing_periods, &m.total_billing_periods, totalBillingPeriods)
    }

    init(_ m: Assay__V1__TransactionCommitmentInfo) throws(MessageError) {
        self.init()
        billingPeriodNumber = unsafe read(m.has_billing_period_number, m.billing_period_number)
        commitmentExpiresDate = unsafe read(
            m.has_commitment_expires_date, m.commitment_expires_date)
        commitmentPrice = unsafe read(m.has_commitment_price, m.commitment_price)
        totalBillingPeriods = unsafe read(m.has_total_billing_periods, m.total_billing_periods)
    }
}
