import AssayModels

// What to do about an entry of what the customer owns.

extension Advice {
    /// Sentences about the purchases of one item. A receipt can have tens of thousands.
    private static let limit = 12
    /// Consumables that are named; more are counted.
    private static let namedConsumables = 3

    /// What to do about the purchases that an item decides; nil if it decides none.
    ///
    /// - Parameter key: the name of what to grant consumables by.
    func purchases(in index: Int, key: String) -> [String]? {
        let entries = entries(decidedBy: index)
        guard !entries.isEmpty else { return nil }
        let whole = entries.filter(\.isWholeConsumable)
        let counted = whole.count > Self.namedConsumables
        var texts: [String] = []
        for entry in entries {
            if entry.isOfAnother { texts.append(another(entry)) }
            if entry.isOfAnother || counted && entry.isWholeConsumable { continue }
            texts += self.texts(entry, isNews: true, key: key)
        }
        if counted { texts.append("Grant each of the \(whole.count) consumables once by \(key).") }
        texts += earlierRevocations(in: index, but: entries)
        let omitted = texts.count - Self.limit
        guard omitted > 0 else { return texts }
        return Array(texts.prefix(Self.limit)) + ["What the customer owns has \(omitted) more."]
    }

    /// The refunds of signed transactions that decide no entry, such as those of earlier periods.
    /// In a receipt a cancellation can be an upgrade.
    private func earlierRevocations(in index: Int, but entries: [OwnedEntry]) -> [String] {
        guard case .serverAnswer = items[index].verification.evidence else { return [] }
        let named = Set(entries.map(\.decidedBy.transactionId))
        return revocations[index].values.filter { !named.contains($0.transactionId) }
            .sorted { $0.transactionId < $1.transactionId }.map {
                $0.takingBack(.whatCameWithIt, words)
            }
    }

    /// What to do about an entry, by its state now.
    ///
    /// - Parameters:
    ///   - isNews: whether to give, rather than to keep, what the customer has.
    ///   - key: the name of what to grant by.
    func texts(_ entry: OwnedEntry, isNews: Bool, key: String = "dedupKey") -> [String] {
        switch entry.purchase {
        case .subscription(let subscription, let group):
            let texts = self.texts(subscription, entry, isNews: isNews)
            let isOther = !subscription.isEntitled && group.isEntitled
            return isOther ? texts + remaining(entry) : texts
        case .nonConsumable(let product): return [text(product, entry, isNews: isNews, key: key)]
        case .nonRenewing(let product):
            let text = text(product, entry, isNews: isNews, key: key)
            guard product.isEntitled, product.entitledUntil == nil else { return [text] }
            return [text + " The evidence states no end: its duration is yours to know."]
        case .consumable(let consumable): return text(consumable, entry, isNews: isNews, key: key)
        }
    }

    /// What the customer keeps by other purchases than one that was taken back.
    func remaining(_ entry: OwnedEntry?) -> [String] {
        switch entry?.purchase {
        case .subscription(_, let group)?: return [stays(group.deciding)]
        case .nonConsumable(let product)?, .nonRenewing(let product)?:
            return [
                "The customer keeps \(Self.name(product.productId))"
                    + words.until(product.entitledUntil)
                    + " by transaction \(Self.name(product.transactionId))."
            ]
        case .consumable?, nil: return []
        }
    }

    /// Evidence of an account that is not the expected one.
    func another(_ entry: OwnedEntry?) -> String {
        "Grant nothing to the customer that you ask about: \(Self.name(entry?.productId)) names "
            + "the account \(Self.name(entry?.account, or: "of another")). Ask which account "
            + "bought it."
    }

    // MARK: Subscriptions

    private func texts(
        _ subscription: Subscription, _ entry: OwnedEntry, isNews: Bool
    ) -> [String] {
        let product = Self.name(subscription.productId)
        let until = words.until(subscription.entitledUntil)
        switch subscription.status {
        case .active where subscription.isEntitled && isNews:
            let shared = subscription.ownership == .familyShared
            return [
                "Give access to \(product)\(until)."
                    + (shared ? " The family shares it: it is no sale." : "")
            ]
        case .active where subscription.isEntitled: return [stays(subscription)]
        case .gracePeriod where subscription.isEntitled:
            return [
                "Keep the access to \(product)\(until): a payment failed, and its grace period is "
                    + "in force."
            ]
        case .billingRetry, .unknown:
            guard !subscription.isEntitled else { return [stays(subscription)] }
            return unpaid(subscription, entry)
        case .expired: return ["Give no access to \(product)\(ended(subscription))."]
        case .revoked: return [takingBack(entry)]
        case .active, .gracePeriod:
            return ["Give no access to \(product): it is not the customer's."]
        }
    }

    private func stays(_ subscription: Subscription) -> String {
        "The access to \(Self.name(subscription.productId)) stays"
            + words.until(subscription.entitledUntil) + "."
    }

    private func unpaid(_ subscription: Subscription, _ entry: OwnedEntry) -> [String] {
        let product = Self.name(subscription.productId)
        let end = subscription.expiresDate.map(words.date)
        let isRetrying = subscription.status == .billingRetry
        let reason =
            isRetrying
            ? "its period ended\(end.map { " at " + $0 } ?? ""), and \(entry.store.phrase) "
                + "tries to charge again"
            : end.map { "nothing states what happened after \($0)" }
                ?? "its evidence states no end"
        return ["Give no access to \(product) now: \(reason).", ask(entry)]
    }

    private func ended(_ subscription: Subscription) -> String {
        let end = words.at(subscription.expiresDate)
        let reason =
            switch subscription.expirationIntent {
            case .cancelled?: ", because the customer cancelled"
            case .billingError?: ", because the payment failed"
            case .noConsentToPriceIncrease?:
                ", because the customer did not agree to a higher price"
            case .productNotAvailable?: ", because the product was not for sale"
            default: ""
            }
        return ": it ended" + end + reason
    }

    /// What to ask the store about an entry.
    func ask(_ entry: OwnedEntry) -> String {
        guard entry.store == .apple else {
            return "Ask \(entry.store.phrase)'s API, with its purchase token."
        }
        let id = Self.name(entry.decidedBy.transactionId)
        return "Ask the App Store about transaction \(id): assay api statuses --bundle-id "
            + "\(Self.name(entry.bundleId)) \(id)"
    }

    // MARK: Products

    private func text(
        _ product: ProductEntitlement, _ entry: OwnedEntry, isNews: Bool, key: String
    ) -> String {
        let name = Self.name(product.productId)
        let until = words.until(product.entitledUntil)
        guard product.isEntitled else {
            if product.revocationDate != nil || entry.store != .apple { return takingBack(entry) }
            return "Give no access to \(name): its time is over."
        }
        guard isNews else { return "The customer keeps \(name)\(until)." }
        guard product.ownership != .familyShared else {
            return "Give access to \(name)\(until) while the family shares it: it is no sale."
        }
        return "Grant once by \(key): \(name)\(until)."
    }

    private func text(
        _ consumable: ConsumablePurchase, _ entry: OwnedEntry, isNews: Bool, key: String
    ) -> [String] {
        guard consumable.revokedPercentage == 0 else { return [takingBack(entry)] }
        guard isNews else { return [] }
        let count = consumable.quantity == 1 ? "" : "\(consumable.quantity) × "
        return ["Grant once by \(key): \(count)\(Self.name(consumable.productId))."]
    }

    /// An entry that was refunded or revoked, with the date and the reason of its evidence.
    func takingBack(_ entry: OwnedEntry) -> String {
        let decidedBy = entry.decidedBy
        guard revocations.indices.contains(decidedBy.item),
            let revocation = revocations[decidedBy.item][decidedBy.transactionId]
        else { return Revocation.takingBack(entry.productId, decidedBy.transactionId) }
        return revocation.takingBack(.product, words)
    }
}
