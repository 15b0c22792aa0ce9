import AssayBytes
public import AssayModels

/// Unsigned payloads in Apple's form: member names, order and values of an auto-renewable
/// subscription in production. Each `index` is a different purchase.
public enum Samples {
    private static let day: Int64 = 86_400_000
    static let month: Int64 = 30 * day

    /// A period of a subscription, by the indices of samples.
    package struct Period: Sendable {
        let transaction: Int
        let subscription: Int
        let customer: Int
        /// How many months before the newest period it began.
        let monthsAgo: Int
        /// How many months before the newest period the subscription began.
        let age: Int

        package init(
            transaction: Int, subscription: Int, customer: Int, monthsAgo: Int = 0, age: Int = 3
        ) {
            self.transaction = transaction
            self.subscription = subscription
            self.customer = customer
            self.monthsAgo = monthsAgo
            self.age = age
        }
    }

    /// Returns the payload of a signed transaction (JWSTransactionDecodedPayload).
    public static func transaction(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        let alone = Period(transaction: index, subscription: index, customer: index)
        return transaction(
            alone, bundleId: bundleId, environment: environment, signedDate: signedDate)
    }

    /// Returns the payload of a signed transaction.
    package static func transaction(
        _ period: Period, bundleId: String, environment: StoreEnvironment, signedDate: Timestamp
    ) -> [UInt8] {
        let signed = signedDate.milliseconds
        let newest = signed - 7_000
        let bought = newest - Int64(period.monthsAgo) * month
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("transactionId", transactionId(period.transaction, environment))
            payload.member(
                "originalTransactionId", originalTransactionId(period.subscription, environment))
            payload.member(
                "webOrderLineItemId", String(790_000_312_345_000 + Int64(period.transaction)))
            payload.member("bundleId", bundleId)
            payload.member("productId", bundleId + ".premium.monthly")
            payload.member("subscriptionGroupIdentifier", "21353425")
            payload.member("purchaseDate", bought)
            payload.member("originalPurchaseDate", newest - Int64(period.age) * month)
            payload.member("expiresDate", bought + month)
            payload.member("quantity", 1 as Int64)
            payload.member("type", "Auto-Renewable Subscription")
            payload.member("appAccountToken", uuid(1, period.customer))
            payload.member("inAppOwnershipType", "PURCHASED")
            payload.member("signedDate", signed)
            payload.member("isUpgraded", false)
            payload.member("offerType", 2 as Int64)
            payload.member("offerIdentifier", "loyalty_2025_q4")
            payload.member("environment", environment.rawValue)
            payload.member("transactionReason", "RENEWAL")
            payload.member("storefront", "USA")
            payload.member("storefrontId", "143441")
            payload.member("price", 9_990 as Int64)
            payload.member("currency", "USD")
            payload.member("offerDiscountType", "PAY_AS_YOU_GO")
            payload.member("offerPeriod", "P1M")
            payload.member("appTransactionId", appTransactionId(period.customer))
        }
        return writer.text
    }

    /// Returns the payload of signed renewal info (JWSRenewalInfoDecodedPayload).
    public static func renewalInfo(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        let signed = signedDate.milliseconds
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("originalTransactionId", originalTransactionId(index, environment))
            payload.member("autoRenewProductId", bundleId + ".premium.monthly")
            payload.member("productId", bundleId + ".premium.monthly")
            payload.member("autoRenewStatus", 1 as Int64)
            payload.member("renewalPrice", 9_990 as Int64)
            payload.member("currency", "USD")
            payload.member("signedDate", signed)
            payload.member("environment", environment.rawValue)
            payload.member("recentSubscriptionStartDate", signed - 7_000 - 3 * month)
            payload.member("renewalDate", signed - 7_000 + month)
            payload.array("eligibleWinBackOfferIds") { offers in
                offers.value("winback_2025_a")
                offers.value("winback_2025_b")
            }
            payload.member("appAccountToken", uuid(1, index))
            payload.member("appTransactionId", appTransactionId(index))
        }
        return writer.text
    }

    /// Returns the payload of a signed app transaction (AppTransaction), as a device receives it.
    ///
    /// Its `deviceVerification` has the right form but binds to no device. As the App Store
    /// does, it names the version 1.0 as the first one of each customer of the Sandbox.
    public static func appTransaction(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        let signed = signedDate.milliseconds
        let digest = (0..<48).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0 &* 89) }
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("receiptType", environment.rawValue)
            payload.member("appAppleId", appAppleId)
            payload.member("bundleId", bundleId)
            payload.member("applicationVersion", "4213")
            payload.member("versionExternalIdentifier", 873_214_559 as Int64)
            payload.member("receiptCreationDate", signed)
            payload.member("originalPurchaseDate", signed - 400 * day)
            payload.member(
                "originalApplicationVersion", environment == .sandbox ? "1.0" : "3877")
            payload.member(
                "deviceVerification", String(decoding: Base64.encode(digest.span), as: UTF8.self))
            payload.member("deviceVerificationNonce", uuid(2, index))
            payload.member("requestDate", signed)
            payload.member("appTransactionId", appTransactionId(index))
            payload.member("originalPlatform", "iOS")
        }
        return writer.text
    }

    /// Returns the payload of a notification (responseBodyV2DecodedPayload) with its nested JWS.
    public static func notification(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp, signedTransactionInfo: String?, signedRenewalInfo: String?
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("notificationType", "DID_RENEW")
            payload.member("subtype", "BILLING_RECOVERY")
            payload.member("notificationUUID", uuid(3, index))
            payload.object("data") { data in
                data.member("appAppleId", appAppleId)
                data.member("bundleId", bundleId)
                data.member("bundleVersion", "4213")
                data.member("environment", environment.rawValue)
                data.member("signedTransactionInfo", signedTransactionInfo)
                data.member("signedRenewalInfo", signedRenewalInfo)
                data.member("status", 1 as Int64)
            }
            payload.member("version", "2.0")
            payload.member("signedDate", signedDate.milliseconds)
        }
        return writer.text
    }

    /// Returns the payload of a retention messaging request (DecodedRealtimeRequestBody).
    public static func realtimeRequest(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("originalTransactionId", originalTransactionId(index, environment))
            payload.member("appAppleId", appAppleId)
            payload.member("productId", bundleId + ".premium.monthly")
            payload.member("userLocale", "en-US")
            payload.member("requestIdentifier", uuid(4, index))
            payload.member("environment", environment.rawValue)
            payload.member("signedDate", signedDate.milliseconds)
        }
        return writer.text
    }

    /// Returns an answer of the App Store Server API: one page of a transaction history.
    public static func history(
        signedTransactions: [String], bundleId: String, appAppleId: Int64,
        environment: StoreEnvironment
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: signedTransactions.reduce(256) { $0 + $1.utf8.count + 3 })
        writer.object { answer in
            answer.member("revision", "1700000000000_\(signedTransactions.count)")
            answer.member("bundleId", bundleId)
            answer.member("appAppleId", appAppleId)
            answer.member("environment", environment.rawValue)
            answer.member("hasMore", false)
            answer.array("signedTransactions") { list in
                for token in signedTransactions { list.value(token) }
            }
        }
        return writer.text
    }

    // MARK: Identifiers

    /// Returns a transaction id: fifteen digits in production, sixteen that begin with 2000000 in
    /// the sandbox.
    static func transactionId(_ index: Int, _ environment: StoreEnvironment) -> String {
        let base: Int64 = environment == .sandbox ? 2_000_000_500_000_000 : 470_001_500_000_000
        return String(base + 2 * Int64(index) + 1)
    }

    /// Returns the transaction id of the first period of the subscription that `transactionId`
    /// renews.
    static func originalTransactionId(
        _ index: Int, _ environment: StoreEnvironment
    ) -> String {
        let base: Int64 = environment == .sandbox ? 2_000_000_400_000_000 : 470_001_400_000_000
        return String(base + 2 * Int64(index))
    }

    private static func appTransactionId(_ index: Int) -> String {
        String(704_289_572_311_000_000 + Int64(index))
    }

    /// Returns a version 4 UUID, different for each index and, by `domain`, for each use.
    package static func uuid(_ domain: UInt8, _ index: Int) -> String {
        // Any bijection that makes neighbours look unrelated will do.
        let mixed = UInt64(truncatingIfNeeded: index) &* 0x9E37_79B9_7F4A_7C15
        let digits = String(mixed, width: 16, radix: 16)
        let other = String(~mixed &* 0xD6E8_FEB8_6659_FD93, width: 16, radix: 16)
        let groups = [
            "\(digits.prefix(8))", "\(other.prefix(4))", "4\(domain)\(other.suffix(2))",
            "a\(other.dropFirst(4).prefix(3))", "\(digits.suffix(8))\(other.suffix(4))",
        ]
        return groups.joined(separator: "-")
    }
}
