import AssayModels
import CAssayProto

extension JWSRenewalInfoDecodedPayload: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__JWSRenewalInfoDecodedPayload>) {
        unsafe assay__v1__jwsrenewal_info_decoded_payload__init(message)
    }

    func fill(_ m: inout Assay__V1__JWSRenewalInfoDecodedPayload, in arena: MessageArena) {
        unsafe arena.set(&m.has_expiration_intent, &m.expiration_intent, expirationIntent)
        unsafe arena.set(
            &m.has_original_transaction_id, &m.original_transaction_id, originalTransactionId)
        unsafe arena.set(&m.has_auto_renew_product_id, &m.auto_renew_product_id, autoRenewProductId)
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(&m.has_auto_renew_status, &m.auto_renew_status, autoRenewStatus)
        unsafe arena.set(
            &m.has_is_in_billing_retry_period, &m.is_in_billing_retry_period, isInBillingRetryPeriod
        )
        unsafe arena.set(
            &m.has_price_increase_status, &m.price_increase_status, priceIncreaseStatus)
        unsafe arena.set(
            &m.has_grace_period_expires_date, &m.grace_period_expires_date, gracePeriodExpiresDate)
        unsafe arena.set(&m.has_offer_type, &m.offer_type, offerType)
        unsafe arena.set(&m.has_offer_identifier, &m.offer_identifier, offerIdentifier)
        unsafe arena.set(&m.has_signed_date, &m.signed_date, signedDate)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(
            &m.has_recent_subscription_start_date, &m.recent_subscription_start_date,
            recentSubscriptionStartDate)
        unsafe arena.set(&m.has_renewal_date, &m.renewal_date, renewalDate)
        unsafe arena.set(&m.has_currency, &m.currency, currency)
        unsafe arena.set(&m.has_renewal_price, &m.renewal_price, renewalPrice)
        unsafe arena.set(&m.has_offer_discount_type, &m.offer_discount_type, offerDiscountType)
        unsafe m.eligible_win_back_offer_ids = arena.strings(eligibleWinBackOfferIds)
        unsafe arena.set(&m.has_app_account_token, &m.app_account_token, appAccountToken)
        unsafe arena.set(&m.has_app_transaction_id, &m.app_transaction_id, appTransactionId)
        unsafe arena.set(&m.has_offer_period, &m.offer_period, offerPeriod)
        unsafe m.advanced_commerce_info = arena.message(advancedCommerceInfo)
        unsafe m.commitment_info = arena.message(commitmentInfo)
        unsafe arena.set(&m.has_device_verification, &m.device_verification, deviceVerification)
        unsafe arena.set(
            &m.has_device_verification_nonce, &m.device_verification_nonce,
            deviceVerificationNonce)
        unsafe arena.set(
            &m.has_renewal_billing_plan_type, &m.renewal_billing_plan_type, renewalBillingPlanType)
    }

    init(_ m: Assay__V1__JWSRenewalInfoDecodedPayload) throws(MessageError) {
        self.init()
        expirationIntent = unsafe read(m.has_expiration_intent, m.expiration_intent)
        originalTransactionId = try unsafe read(
            m.has_original_transaction_id, m.original_transaction_id)
        autoRenewProductId = try unsafe read(m.has_auto_renew_product_id, m.auto_renew_product_id)
        productId = try unsafe read(m.has_product_id, m.product_id)
        autoRenewStatus = unsafe read(m.has_auto_renew_status, m.auto_renew_status)
        isInBillingRetryPeriod = unsafe read(
            m.has_is_in_billing_retry_period, m.is_in_billing_retry_period)
        priceIncreaseStatus = unsafe read(m.has_price_increase_status, m.price_increase_status)
        gracePeriodExpiresDate = unsafe read(
            m.has_grace_period_expires_date, m.grace_period_expires_date)
        offerType = unsafe read(m.has_offer_type, m.offer_type)
        offerIdentifier = try unsafe read(m.has_offer_identifier, m.offer_identifier)
        signedDate = unsafe read(m.has_signed_date, m.signed_date)
        environment = try unsafe read(m.has_environment, m.environment)
        recentSubscriptionStartDate = unsafe read(
            m.has_recent_subscription_start_date, m.recent_subscription_start_date)
        renewalDate = unsafe read(m.has_renewal_date, m.renewal_date)
        currency = try unsafe read(m.has_currency, m.currency)
        renewalPrice = unsafe read(m.has_renewal_price, m.renewal_price)
        offerDiscountType = try unsafe read(m.has_offer_discount_type, m.offer_discount_type)
        eligibleWinBackOfferIds = try unsafe read(m.eligible_win_back_offer_ids)
        appAccountToken = try unsafe read(m.has_app_account_token, m.app_account_token)
        appTransactionId = try unsafe read(m.has_app_transaction_id, m.app_transaction_id)
        offerPeriod = try unsafe read(m.has_offer_period, m.offer_period)
        advancedCommerceInfo = try unsafe read(m.advanced_commerce_info)
        commitmentInfo = try unsafe read(m.commitment_info)
        deviceVerification = try unsafe read(m.has_device_verification, m.device_verification)
        deviceVerificationNonce = try unsafe read(
            m.has_device_verification_nonce, m.device_verification_nonce)
        renewalBillingPlanType = try unsafe read(
            m.has_renewal_billing_plan_type, m.renewal_billing_plan_type)
    }
}

extension RenewalCommitmentInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__RenewalCommitmentInfo>) {
        unsafe assay__v1__renewal_commitment_info__init(message)
    }

    func fill(_ m: inout Assay__V1__RenewalCommitmentInfo, in arena: MessageArena) {
        unsafe arena.set(
            &m.has_commitment_auto_renew_product_id, &m.commitment_auto_renew_product_id,
            commitmentAutoRenewProductId)
        unsafe arena.set(
            &m.has_commitment_auto_renew_status, &m.commitment_auto_renew_status,
            commitmentAutoRenewStatus)
        unsafe arena.set(
            &m.has_commitment_renewal_billing_plan_type, &m.commitment_renewal_billing_plan_type,
            commitmentRenewalBillingPlanType)
        unsafe arena.set(
            &m.has_commitment_renewal_date, &m.commitment_renewal_date, commitmentRenewalDate)
        unsafe arena.set(
            &m.has_commitment_renewal_price, &m.commitment_renewal_price, commitmentRenewalPrice)
    }

    init(_ m: Assay__V1__RenewalCommitmentInfo) throws(MessageError) {
        self.init()
        commitmentAutoRenewProductId = try unsafe read(
            m.has_commitment_auto_renew_product_id, m.commitment_auto_renew_product_id)
        commitmentAutoRenewStatus = unsafe read(
            m.has_commitment_auto_renew_status, m.commitment_auto_renew_status)
        commitmentRenewalBillingPlanType = try unsafe read(
            m.has_commitment_renewal_billing_plan_type, m.commitment_renewal_billing_plan_type)
        commitmentRenewalDate = unsafe read(
            m.has_commitment_renewal_date, m.commitment_renewal_date)
        commitmentRenewalPrice = unsafe read(
            m.has_commitment_renewal_price, m.commitment_renewal_price)
    }
}
