package import AssayBytes
package import AssayModels

extension JWSTransactionDecodedPayload: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        try read(&members)
    }

    /// Reads the members. Separate from `init`, which would copy the fields read so far, and all
    /// of them at its end.
    private mutating func read(_ members: inout JSONMembers) throws(JSONError) {
        originalTransactionId = try members.string("originalTransactionId")
        transactionId = try members.string("transactionId")
        webOrderLineItemId = try members.string("webOrderLineItemId")
        bundleId = try members.string("bundleId")
        productId = try members.string("productId")
        subscriptionGroupIdentifier = try members.string("subscriptionGroupIdentifier")
        purchaseDate = try members.date("purchaseDate")
        originalPurchaseDate = try members.date("originalPurchaseDate")
        expiresDate = try members.date("expiresDate")
        quantity = try members.int32("quantity")
        type = try members.enumeration("type")
        appAccountToken = try members.string("appAccountToken")
        inAppOwnershipType = try members.enumeration("inAppOwnershipType")
        signedDate = try members.date("signedDate")
        revocationReason = try members.enumeration("revocationReason")
        revocationDate = try members.date("revocationDate")
        isUpgraded = try members.bool("isUpgraded")
        offerType = try members.enumeration("offerType")
        offerIdentifier = try members.string("offerIdentifier")
        environment = try members.enumeration("environment")
        storefront = try members.string("storefront")
        storefrontId = try members.string("storefrontId")
        transactionReason = try members.enumeration("transactionReason")
        currency = try members.string("currency")
        price = try members.int64("price")
        offerDiscountType = try members.enumeration("offerDiscountType")
        appTransactionId = try members.string("appTransactionId")
        offerPeriod = try members.string("offerPeriod")
        revocationType = try members.enumeration("revocationType")
        revocationPercentage = try members.int32("revocationPercentage")
        advancedCommerceInfo = try members.object("advancedCommerceInfo")
        billingPlanType = try members.enumeration("billingPlanType")
        commitmentInfo = try members.object("commitmentInfo")
        deviceVerification = try members.string("deviceVerification")
        deviceVerificationNonce = try members.string("deviceVerificationNonce")
        previousOriginalTransactionId = try members.string("previousOriginalTransactionId")
        bundleProductID = try members.string("bundleProductID", or: "bundleProductId")
        bundleSubscriptionGroupID = try members.string(
            "bundleSubscriptionGroupID", or: "bundleSubscriptionGroupId")
        bundleTransactionID = try members.string("bundleTransactionID", or: "bundleTransactionId")
        bundleOriginalTransactionID = try members.string(
            "bundleOriginalTransactionID", or: "bundleOriginalTransactionId")
        additionalTransactionReason = try members.enumeration("additionalTransactionReason")
        multiSeatInfo = try members.object("multiSeatInfo")
    }
}

extension TransactionMultiSeatInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        invitationManagement = try members.enumeration("invitationManagement")
        priceTiers = try members.objects("priceTiers") ?? []
        revokedSeatQuantity = try members.int32("revokedSeatQuantity")
    }
}

extension SeatPriceTier: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        price = try members.int64("price")
        quantity = try members.int32("quantity")
    }
}

extension TransactionCommitmentInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        billingPeriodNumber = try members.int32("billingPeriodNumber")
        commitmentExpiresDate = try members.date("commitmentExpiresDate")
        commitmentPrice = try members.int64("commitmentPrice")
        totalBillingPeriods = try members.int32("totalBillingPeriods")
    }
}
