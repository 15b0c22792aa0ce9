/// The payload of an App Store Server Notification V2 (Apple: responseBodyV2DecodedPayload).
public struct ResponseBodyV2DecodedPayload: Equatable, Sendable {
    /// The event, such as `didRenew`.
    public var notificationType: NotificationTypeV2?
    /// Detail of the event, such as `billingRecovery`.
    public var subtype: Subtype?
    /// UUID of the notification. A retry has the same UUID.
    public var notificationUUID: String?
    /// Present in notifications about one purchase.
    public var data: NotificationData?
    /// Version of the notification format, such as 2.0.
    public var version: String?
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp?
    /// Present when Apple has completed a renewal extension.
    public var summary: Summary?
    /// Present in `externalPurchaseToken` notifications.
    public var externalPurchaseToken: ExternalPurchaseToken?
    /// Present in notifications about the purchase of the app.
    public var appData: AppData?
    /// Present in notifications about seats that nobody has any longer.
    public var unclaimInfo: UnclaimInfo?
    /// Where none of the objects above is there: the other members that name an app or an
    /// environment. Apple adds such objects every year.
    public var unknownContainers: [NotificationContainer] = []

    /// Creates an empty value.
    public init() {}
}

/// Apple: NotificationData.
public struct NotificationData: Equatable, Sendable {
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Build version of the app.
    public var bundleVersion: String?
    /// A nested JWS, verified together with the notification.
    public var signedTransactionInfo: String?
    /// A nested JWS, verified together with the notification.
    public var signedRenewalInfo: String?
    /// Status of the subscription.
    public var status: SubscriptionStatus?
    /// Why the customer requested a refund.
    public var consumptionRequestReason: ConsumptionRequestReason?

    /// Creates an empty value.
    public init() {}
}

/// Apple: Summary.
public struct Summary: Equatable, Sendable {
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Product identifier, as in App Store Connect.
    public var productId: String?
    /// UUID of the request.
    public var requestIdentifier: String?
    /// ISO 3166-1 alpha-3 country codes of the request's storefronts.
    public var storefrontCountryCodes: [String]?
    /// Number of extended subscriptions.
    public var succeededCount: Int64?
    /// Number of subscriptions that Apple could not extend.
    public var failedCount: Int64?

    /// Creates an empty value.
    public init() {}
}

/// Apple: ExternalPurchaseToken.
public struct ExternalPurchaseToken: Equatable, Sendable {
    /// Begins with `SANDBOX` in the sandbox.
    public var externalPurchaseId: String?
    /// Milliseconds since 1970.
    public var tokenCreationDate: Int64?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Purpose of the token; only tokens of custom links have one.
    public var tokenType: ExternalPurchaseTokenType?
    /// Milliseconds since 1970. The end of the token; only tokens of custom links have one.
    public var tokenExpirationDate: Int64?

    /// Creates an empty value.
    public init() {}
}

/// The type of an external purchase token (Apple: tokenType). An open enumeration: keeps values
/// that Apple adds later.
public struct ExternalPurchaseTokenType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// For a purchase of services.
    public static let services = Self(rawValue: "SERVICES")
    /// For an acquisition.
    public static let acquisition = Self(rawValue: "ACQUISITION")
}

/// Apple: AppData.
public struct AppData: Equatable, Sendable {
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// A nested JWS, verified together with the notification.
    public var signedAppTransactionInfo: String?

    /// Creates an empty value.
    public init() {}
}

/// The seats that a group or an organisation took back (Apple: unclaimInfo).
public struct UnclaimInfo: Equatable, Sendable {
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String?
    /// The seats.
    public var unclaimSeatIds: [String] = []

    /// Creates an empty value.
    public init() {}
}

/// A member of a notification that this version does not know, with the app and the environment
/// that it names.
public struct NotificationContainer: Equatable, Sendable {
    /// The member's name.
    public var name: String?
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?

    /// Creates an empty value.
    public init() {}
}

/// The event of a notification (Apple: notificationType). An open enumeration: keeps values that
/// Apple adds later.
public struct NotificationTypeV2: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer subscribed, for the first time or again.
    public static let subscribed = Self(rawValue: "SUBSCRIBED")
    /// The customer changed the plan of a subscription.
    public static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The customer, or Apple, turned automatic renewal on or off.
    public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An active subscriber redeemed an offer.
    public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    /// A subscription renewed.
    public static let didRenew = Self(rawValue: "DID_RENEW")
    /// A subscription expired.
    public static let expired = Self(rawValue: "EXPIRED")
    /// The payment of a renewal failed.
    public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    /// The billing grace period ended without a renewal.
    public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    /// Apple informed the customer of a price increase.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// Apple refunded a purchase.
    public static let refund = Self(rawValue: "REFUND")
    /// Apple declined a refund.
    public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    /// Apple asks for consumption data to decide about a refund.
    public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    /// Apple extended the period of one subscription.
    public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    /// A Family Sharing purchase is no longer shared.
    public static let revoke = Self(rawValue: "REVOKE")
    /// A test that the developer requested.
    public static let test = Self(rawValue: "TEST")
    /// A step of a renewal extension for all subscribers.
    public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    /// Apple reversed a refund.
    public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    /// About the token of an external purchase, such as one that was not reported.
    public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// The customer bought a product that is not a renewing subscription.
    public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    /// A parent withdrew the consent to a child's use of the app.
    public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    /// The metadata of an Advanced Commerce subscription changed.
    public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// A subscription moved to the Advanced Commerce API.
    public static let migration = Self(rawValue: "MIGRATION")
    /// Another spelling of `migration` in Apple's documentation.
    public static let migrate = Self(rawValue: "MIGRATE")
    /// The price of an Advanced Commerce subscription changed.
    public static let priceChange = Self(rawValue: "PRICE_CHANGE")
}

/// The detail of a notification's event. An open enumeration: keeps values that Apple adds later.
public struct Subtype: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first subscription to a product of the group.
    public static let initialBuy = Self(rawValue: "INITIAL_BUY")
    /// A subscription after an earlier one expired.
    public static let resubscribe = Self(rawValue: "RESUBSCRIBE")
    /// A change to a lower service level, at the next renewal.
    public static let downgrade = Self(rawValue: "DOWNGRADE")
    /// A change to a higher service level, at once.
    public static let upgrade = Self(rawValue: "UPGRADE")
    /// Automatic renewal is on.
    public static let autoRenewEnabled = Self(rawValue: "AUTO_RENEW_ENABLED")
    /// Automatic renewal is off.
    public static let autoRenewDisabled = Self(rawValue: "AUTO_RENEW_DISABLED")
    /// The customer turned automatic renewal off.
    public static let voluntary = Self(rawValue: "VOLUNTARY")
    /// Apple could not collect the payment during billing retry.
    public static let billingRetry = Self(rawValue: "BILLING_RETRY")
    /// The customer did not consent to a price increase.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// Billing retry with a grace period: the service continues.
    public static let gracePeriod = Self(rawValue: "GRACE_PERIOD")
    /// The customer has not answered yet.
    public static let pending = Self(rawValue: "PENDING")
    /// The customer consented, or consent is not needed.
    public static let accepted = Self(rawValue: "ACCEPTED")
    /// A payment succeeded after billing retry.
    public static let billingRecovery = Self(rawValue: "BILLING_RECOVERY")
    /// The product was not for sale at the renewal.
    public static let productNotForSale = Self(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// A renewal extension is complete.
    public static let summary = Self(rawValue: "SUMMARY")
    /// A renewal extension failed for one subscription.
    public static let failure = Self(rawValue: "FAILURE")
    /// The external purchase was not reported.
    public static let unreported = Self(rawValue: "UNREPORTED")
    /// Apple created the token of an external purchase.
    public static let created = Self(rawValue: "CREATED")
    /// The token of an external purchase is still active.
    public static let activeTokenReminder = Self(rawValue: "ACTIVE_TOKEN_REMINDER")
}

/// The status of a subscription at the time of a notification. An open enumeration: keeps values
/// that Apple adds later.
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Active.
    public static let active = Self(rawValue: 1)
    /// Expired.
    public static let expired = Self(rawValue: 2)
    /// Apple is retrying a failed payment.
    public static let billingRetry = Self(rawValue: 3)
    /// Apple is retrying a failed payment, and the service continues.
    public static let gracePeriod = Self(rawValue: 4)
    /// Refunded, or no longer shared.
    public static let revoked = Self(rawValue: 5)
}

/// The reason for which the customer requested a refund. An open enumeration: keeps values that
/// Apple adds later.
public struct ConsumptionRequestReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer did not intend to buy.
    public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
    /// The customer did not receive the purchase, or it did not work.
    public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
    /// The customer was not satisfied with the purchase.
    public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
    /// A legal reason.
    public static let legal = Self(rawValue: "LEGAL")
    /// Another reason.
    public static let other = Self(rawValue: "OTHER")
}

extension ResponseBodyV2DecodedPayload {
    /// The environment that the notification signs, in the first member present of data, summary,
    /// externalPurchaseToken, appData, unclaimInfo and a member that this version does not know.
    package var environment: StoreEnvironment {
        if let data { return data.environment ?? .unspecified }
        if let summary { return summary.environment ?? .unspecified }
        if let externalPurchaseToken {
            let isSandbox = externalPurchaseToken.externalPurchaseId?.hasPrefix("SANDBOX") == true
            return isSandbox ? .sandbox : .production
        }
        return appData?.environment ?? unclaimInfo?.environment
            ?? unknownContainers.lazy.compactMap(\.environment).first ?? .unspecified
    }
}
