package import AssayBytes
package import AssayModels

extension JWSRenewalInfoDecodedPayload: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        expirationIntent = try members.enumeration("expirationIntent")
        originalTransactionId = try members.string("originalTransactionId")
        autoRenewProductId = try members.string("autoRenewProductId")
        productId = try members.string("productId")
        autoRenewStatus = try members.enumeration("autoRenewStatus")
        isInBillingRetryPeriod = try members.bool("isInBillingRetryPeriod")
        priceIncreaseStatus = try members.enumeration("priceIncreaseStatus")
        gracePeriodExpiresDate = try members.date("gracePeriodExpiresDate")
        offerType = try members.enumeration("offerType")
        offerIdentifier = try members.string("offerIdentifier")
        signedDate = try members.date("signedDate")
        environment = try members.enumeration("environment")
        recentSubscriptionStartDate = try members.date("recentSubscriptionStartDate")
        renewalDate = try members.date("renewalDate")
        currency = try members.string("currency")
        renewalPrice = try members.int64("renewalPrice")
        offerDiscountType = try members.enumeration("offerDiscountType")
        eligibleWinBackOfferIds = try members.strings("eligibleWinBackOfferIds")
        appAccountToken = try members.string("appAccountToken")
        appTransactionId = try members.string("appTransactionId")
        offerPeriod = try members.string("offerPeriod")
        advancedCommerceInfo = try members.object("advancedCommerceInfo")
        commitmentInfo = try members.object("commitmentInfo")
        renewalBillingPlanType = try members.enumeration("renewalBillingPlanType")
        deviceVerification = try members.string("deviceVerification")
        deviceVerificationNonce = try members.string("deviceVerificationNonce")
        bundleProductID = try members.string("bundleProductID", or: "bundleProductId")
        bundleSubscriptionGroupID = try members.string(
            "bundleSubscriptionGroupID", or: "bundleSubscriptionGroupId")
        bundleOriginalTransactionID = try members.string(
            "bundleOriginalTransactionID", or: "bundleOriginalTransactionId")
        willUnbundle = try members.bool("willUnbundle")
        renewalQuantity = try members.int32("renewalQuantity")
        multiSeatInfo = try members.object("multiSeatInfo")
    }
}

extension RenewalMultiSeatInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        renewalPriceTiers = try members.objects("renewalPriceTiers") ?? []
    }
}

extension RenewalCommitmentInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        commitmentAutoRenewProductId = try members.string("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = try members.enumeration("commitmentAutoRenewStatus")
        commitmentRenewalBillingPlanType = try members.enumeration(
            "commitmentRenewalBillingPlanType")
        commitmentRenewalDate = try members.date("commitmentRenewalDate")
        commitmentRenewalPrice = try members.int64("commitmentRenewalPrice")
    }
}
