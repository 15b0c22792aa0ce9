import AssayModels

extension JWSTransactionDecodedPayload: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        originalTransactionId = sample.text()
        transactionId = sample.text()
        webOrderLineItemId = sample.text()
        bundleId = sample.text()
        productId = sample.text()
        subscriptionGroupIdentifier = sample.text()
        purchaseDate = sample.time()
        originalPurchaseDate = sample.time()
        expiresDate = sample.time()
        quantity = sample.number()
        type = sample.named()
        appAccountToken = sample.text()
        inAppOwnershipType = sample.named()
        signedDate = sample.time()
        revocationReason = sample.coded()
        revocationDate = sample.time()
        isUpgraded = sample.flag()
        offerType = sample.coded()
        offerIdentifier = sample.text()
        environment = sample.named()
        storefront = sample.text()
        storefrontId = sample.text()
        transactionReason = sample.named()
        currency = sample.text()
        price = sample.number()
        offerDiscountType = sample.named()
        appTransactionId = sample.text()
        offerPeriod = sample.text()
        revocationType = sample.named()
        revocationPercentage = sample.number()
        advancedCommerceInfo = sample.object()
        billingPlanType = sample.named()
        commitmentInfo = sample.object()
        deviceVerification = sample.text()
        deviceVerificationNonce = sample.text()
        previousOriginalTransactionId = sample.text()
        bundleProductID = sample.text()
        bundleSubscriptionGroupID = sample.text()
        bundleTransactionID = sample.text()
        bundleOriginalTransactionID = sample.text()
        additionalTransactionReason = sample.named()
        multiSeatInfo = sample.object()
    }
}

extension TransactionMultiSeatInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        invitationManagement = sample.named()
        priceTiers = sample.list()
        revokedSeatQuantity = sample.number()
    }
}

extension SeatPriceTier: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        price = sample.number()
        quantity = sample.number()
    }
}

extension RenewalMultiSeatInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        renewalPriceTiers = sample.list()
    }
}

extension TransactionCommitmentInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        billingPeriodNumber = sample.number()
        commitmentExpiresDate = sample.time()
        commitmentPrice = sample.number()
        totalBillingPeriods = sample.number()
    }
}

extension JWSRenewalInfoDecodedPayload: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        expirationIntent = sample.coded()
        originalTransactionId = sample.text()
        autoRenewProductId = sample.text()
        productId = sample.text()
        autoRenewStatus = sample.coded()
        isInBillingRetryPeriod = sample.flag()
        priceIncreaseStatus = sample.coded()
        gracePeriodExpiresDate = sample.time()
        offerType = sample.coded()
        offerIdentifier = sample.text()
        signedDate = sample.time()
        environment = sample.named()
        recentSubscriptionStartDate = sample.time()
        renewalDate = sample.time()
        currency = sample.text()
        renewalPrice = sample.number()
        offerDiscountType = sample.named()
        eligibleWinBackOfferIds = sample.texts()
        appAccountToken = sample.text()
        appTransactionId = sample.text()
        offerPeriod = sample.text()
        advancedCommerceInfo = sample.object()
        commitmentInfo = sample.object()
        deviceVerification = sample.text()
        deviceVerificationNonce = sample.text()
        bundleProductID = sample.text()
        bundleSubscriptionGroupID = sample.text()
        bundleOriginalTransactionID = sample.text()
        willUnbundle = sample.flag()
        renewalQuantity = sample.number()
        multiSeatInfo = sample.object()
        renewalBillingPlanType = sample.named()
    }
}

extension RenewalCommitmentInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        commitmentAutoRenewProductId = sample.text()
        commitmentAutoRenewStatus = sample.coded()
        commitmentRenewalBillingPlanType = sample.named()
        commitmentRenewalDate = sample.time()
        commitmentRenewalPrice = sample.number()
    }
}

extension ResponseBodyV2DecodedPayload: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        notificationType = sample.named()
        subtype = sample.named()
        notificationUUID = sample.text()
        data = sample.object()
        version = sample.text()
        signedDate = sample.time()
        summary = sample.object()
        externalPurchaseToken = sample.object()
        appData = sample.object()
        unclaimInfo = sample.object()
        unknownContainers = sample.list()
    }
}

extension NotificationContainer: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        name = sample.text()
        environment = sample.named()
        appAppleId = sample.number()
        bundleId = sample.text()
    }
}

extension UnclaimInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        appAppleId = sample.number()
        bundleId = sample.text()
        environment = sample.named()
        originalTransactionId = sample.text()
        unclaimSeatIds = sample.texts()
    }
}

extension NotificationData: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        environment = sample.named()
        appAppleId = sample.number()
        bundleId = sample.text()
        bundleVersion = sample.text()
        signedTransactionInfo = sample.text()
        signedRenewalInfo = sample.text()
        status = sample.coded()
        consumptionRequestReason = sample.named()
    }
}

extension Summary: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        environment = sample.named()
        appAppleId = sample.number()
        bundleId = sample.text()
        productId = sample.text()
        requestIdentifier = sample.text()
        storefrontCountryCodes = sample.texts()
        succeededCount = sample.number()
        failedCount = sample.number()
    }
}

extension ExternalPurchaseToken: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        externalPurchaseId = sample.text()
        tokenCreationDate = sample.number()
        appAppleId = sample.number()
        bundleId = sample.text()
        tokenType = sample.named()
        tokenExpirationDate = sample.number()
    }
}

extension AppData: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        appAppleId = sample.number()
        bundleId = sample.text()
        environment = sample.named()
        signedAppTransactionInfo = sample.text()
    }
}

extension AppTransaction: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        receiptType = sample.named()
        appAppleId = sample.number()
        bundleId = sample.text()
        applicationVersion = sample.text()
        versionExternalIdentifier = sample.number()
        receiptCreationDate = sample.time()
        originalPurchaseDate = sample.time()
        originalApplicationVersion = sample.text()
        deviceVerification = sample.text()
        deviceVerificationNonce = sample.text()
        preorderDate = sample.time()
        appTransactionId = sample.text()
        originalPlatform = sample.named()
        requestDate = sample.time()
        storeType = sample.named()
        revocationDate = sample.time()
    }
}

extension UnsignedAnswerMembers: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        environment = sample.named()
        bundleId = sample.text()
        appAppleId = sample.number()
        revision = sample.text()
        hasMore = sample.flag()
        paginationToken = sample.text()
        status = sample.number()
        subscriptions = sample.list()
    }
}

extension UnsignedNotificationV1: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        notificationType = sample.text()
        environment = sample.text()
        bundleId = sample.text()
        bundleVersion = sample.text()
        autoRenewProductId = sample.text()
        autoRenewStatus = sample.text()
    }
}

extension UnsignedSubscriptionStatus: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        originalTransactionId = sample.text()
        status = sample.coded()
    }
}

extension DecodedRealtimeRequestBody: Sampled {
    init(_ sample: inout Sample) {
        self.init(
            originalTransactionId: sample.text(),
            appAppleId: sample.number(),
            productId: sample.text(),
            userLocale: sample.text(),
            requestIdentifier: sample.text(),
            signedDate: sample.time(),
            environment: sample.named()
        )
    }
}
