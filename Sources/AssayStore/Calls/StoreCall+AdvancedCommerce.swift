/// Advanced Commerce. The bodies are Apple's JSON; the answers have a signed transaction, and for a
/// subscription signed renewal information.
extension StoreCall {
    /// A change of a subscription.
    public enum SubscriptionChange: String, Sendable, CaseIterable {
        /// Ends the renewal.
        case cancel
        /// Changes names and descriptions.
        case changeMetadata
        /// Changes the price.
        case changePrice
        /// Moves a subscription of In-App Purchase to Advanced Commerce.
        case migrate
        /// Takes the access away, with a refund.
        case revoke
    }

    /// Changes a subscription (POST /advancedCommerce/v1/subscription/{change}/{id}).
    public static func advancedCommerce(
        _ change: SubscriptionChange, _ id: String, json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        return try advanced("subscription/\(change.rawValue)/\(id)", json)
    }

    /// Refunds a transaction (POST /advancedCommerce/v1/transaction/requestRefund/{id}).
    public static func advancedCommerceRefund(
        _ id: String, json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        return try advanced("transaction/requestRefund/" + id, json)
    }

    private static func advanced(
        _ path: String, _ json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        var call = StoreCall("advanced-commerce", "POST", "/advancedCommerce/v1/" + path)
        call.body = try object(json)
        call.answer = .signed
        // Apple documents no rate.
        call.callClass = .change
        call.isRepeatable = false
        return call
    }
}
