/// The types of version 1 notifications.
package enum NotificationV1Type: String, CaseIterable, Sendable {
    case initialBuy = "INITIAL_BUY"
    case interactiveRenewal = "INTERACTIVE_RENEWAL"
    case didRenew = "DID_RENEW"
    case didFailToRenew = "DID_FAIL_TO_RENEW"
    case didRecover = "DID_RECOVER"
    /// The name of DID_RECOVER until March 2021.
    case renewal = "RENEWAL"
    case didChangeRenewalPreference = "DID_CHANGE_RENEWAL_PREF"
    case didChangeRenewalStatus = "DID_CHANGE_RENEWAL_STATUS"
    case priceIncreaseConsent = "PRICE_INCREASE_CONSENT"
    case cancel = "CANCEL"
    case refund = "REFUND"
    case consumptionRequest = "CONSUMPTION_REQUEST"
    case revoke = "REVOKE"

    /// The types that an event has in version 1; none for an event that only version 2 notifies.
    ///
    /// - Parameters:
    ///   - words: the type and subtype of version 2, such as `DID_RENEW BILLING_RECOVERY`.
    ///   - renews: whether the transaction is of an auto-renewable subscription.
    ///   - isOff: whether the renewal of that subscription is off.
    package static func types(
        ofEvent words: String, renews: Bool, isOff: Bool
    ) -> [NotificationV1Type] {
        switch words {
        case "SUBSCRIBED INITIAL_BUY": [.initialBuy]
        // The renewal, which was off, is on again.
        case "SUBSCRIBED RESUBSCRIBE": [.interactiveRenewal, .didChangeRenewalStatus]
        case "DID_RENEW": [.didRenew]
        case "DID_RENEW BILLING_RECOVERY": [.didRecover]
        case "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW GRACE_PERIOD": [.didFailToRenew]
        // Version 2 counts a change to another product of the same duration as an upgrade, and of
        // another duration as a downgrade.
        case "DID_CHANGE_RENEWAL_PREF UPGRADE", "OFFER_REDEEMED UPGRADE": [.interactiveRenewal]
        case "DID_CHANGE_RENEWAL_PREF DOWNGRADE", "OFFER_REDEEMED DOWNGRADE",
            "DID_CHANGE_RENEWAL_PREF":
            [.didChangeRenewalPreference]
        case "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
            "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED":
            [.didChangeRenewalStatus]
        // The App Store turns the renewal off. A customer who did was notified before.
        case "EXPIRED BILLING_RETRY", "EXPIRED PRICE_INCREASE", "EXPIRED PRODUCT_NOT_FOR_SALE":
            [.didChangeRenewalStatus]
        case "PRICE_INCREASE PENDING": [.priceIncreaseConsent]
        case "REFUND" where !renews: [.refund]
        case "REFUND": isOff ? [.cancel, .didChangeRenewalStatus] : [.cancel]
        case "CONSUMPTION_REQUEST": [.consumptionRequest]
        case "REVOKE": [.revoke]
        default: []
        }
    }
}
