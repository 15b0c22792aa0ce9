import AssayModels

/// What the event of a notification asks for, by its type and subtype. What the customer owns
/// follows from the signed transaction alone.
struct NotificationEvent: Sendable {
    enum Meaning {
        /// It changes what the customer has: the state first, then the remark.
        case news
        /// It changes nothing now: the remark, then the state.
        case noChange
        /// It is about no purchase.
        case apart
    }

    let meaning: Meaning
    let remark: String

    /// Nil for an event that this version does not know.
    init?(_ type: NotificationTypeV2, _ subtype: Subtype?) {
        guard let found = Self.table[type.rawValue]?[subtype?.rawValue ?? ""] else { return nil }
        self = found
    }

    static func isKnown(_ type: NotificationTypeV2) -> Bool { table[type.rawValue] != nil }

    private init(_ meaning: Meaning, _ remark: String) {
        self.meaning = meaning
        self.remark = remark
    }

    private static func news(_ remark: String) -> Self { Self(.news, remark) }
    private static func noChange(_ remark: String) -> Self { Self(.noChange, remark) }
    private static func apart(_ remark: String) -> Self { Self(.apart, remark) }

    /// By type, then subtype; "" for none.
    private static let table: [String: [String: Self]] = [
        "SUBSCRIBED": [
            "INITIAL_BUY": news("It is the first subscription of the group."),
            "RESUBSCRIBE": news("The customer subscribed again."),
        ],
        "OFFER_REDEEMED": [
            "": news("The customer redeemed an offer."),
            "UPGRADE": news("The offer is for an upgrade, which is in force now. \(upgrade)"),
            "DOWNGRADE": noChange(
                "Nothing to do now: the offer is for a downgrade, at the next renewal."),
        ],
        "DID_RENEW": [
            "": news("The subscription renewed."),
            "BILLING_RECOVERY": news(
                "A payment that had failed succeeded: restore access that you ended."),
        ],
        "DID_CHANGE_RENEWAL_PREF": [
            "UPGRADE": news("The upgrade is in force now. \(upgrade)"),
            "DOWNGRADE": noChange("Nothing to do now: the downgrade is at the next renewal."),
            "": noChange("Nothing to do: the customer undid a downgrade."),
            "INCREASE_QUANTITY": noChange(seats), "DECREASE_QUANTITY": noChange(seats),
        ],
        "DID_CHANGE_RENEWAL_STATUS": [
            "AUTO_RENEW_ENABLED": noChange("Nothing to do: automatic renewal is on."),
            "AUTO_RENEW_DISABLED": noChange(
                "Nothing to do now: automatic renewal is off, and the access lasts until the "
                    + "period ends."),
            "": noChange("Nothing to do: automatic renewal was turned on or off."),
        ],
        "DID_FAIL_TO_RENEW": [
            "": news("Apple tries to charge again for up to 60 days. \(payment)"),
            "GRACE_PERIOD": news(payment),
        ],
        "GRACE_PERIOD_EXPIRED": ["": news("The grace period is over. \(payment)")],
        "EXPIRED": [
            "VOLUNTARY": news("The customer had turned automatic renewal off."),
            "BILLING_RETRY": news("Apple could not collect the payment, and stopped trying."),
            "PRICE_INCREASE": news("The customer did not agree to a higher price."),
            "PRODUCT_NOT_FOR_SALE": news("The product was not for sale at the renewal."),
            "": news("Apple names no cause."),
        ],
        "PRICE_INCREASE": [
            "PENDING": noChange("Nothing to do: Apple asked the customer to agree to a price."),
            "ACCEPTED": noChange("Nothing to do: the next renewal has the higher price."),
        ],
        "REFUND": ["": news(""), "SEATS": news("")],
        "REFUND_REVERSED": ["": news("")],
        "REFUND_DECLINED": [
            "": noChange("Nothing to take back: Apple declined the refund.")
        ],
        "CONSUMPTION_REQUEST": ["": apart("")],
        "REVOKE": ["": news("")],
        "RENEWAL_EXTENDED": ["": news("Apple extended the period.")],
        "RENEWAL_EXTENSION": ["SUMMARY": apart(""), "FAILURE": apart("")],
        "ONE_TIME_CHARGE": ["": news("")],
        "METADATA_UPDATE": ["": noChange("Nothing to do: texts of the subscription changed.")],
        "MIGRATION": ["": noChange(migration)],
        "MIGRATE": ["": noChange(migration)],
        "PRICE_CHANGE": ["": noChange("Nothing to do: the price of the subscription changed.")],
        "EXTERNAL_PURCHASE_TOKEN": [
            "CREATED": apart("Store the token. \(report)"),
            "ACTIVE_TOKEN_REMINDER": apart("The token is still active. \(report)"),
            "UNREPORTED": apart("Apple has no report for the token. \(report)"),
        ],
        "RESCIND_CONSENT": [
            "": apart(
                "End the child's use of the app: a parent or guardian withdrew the consent. No "
                    + "purchase changes.")
        ],
        "UNCLAIM_SEATS": ["": apart("")],
        "TEST": ["": apart("Nothing to do: it is a test, and it arrived.")],
    ]

    private static let upgrade = "What it replaces ended by the upgrade: that is no refund."
    private static let seats = "Nothing to do now: the number of seats changes at the next renewal."
    private static let payment = "Ask the customer to correct the payment."
    private static let migration =
        "Store the new ids: the subscription moved, and nothing new was bought."
    private static let report =
        "Report what was bought with it, or that nothing was: assay api external-purchases."
}
