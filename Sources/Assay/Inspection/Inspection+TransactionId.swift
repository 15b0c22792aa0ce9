import AssayBytes
import AssayModels

extension Inspection {
    /// The identifier by which the App Store finds the customer of some evidence: that of the
    /// newest transaction in it. Serves a question to the App Store, whose answer is verified, and
    /// never a decision. UNVERIFIED.
    ///
    /// - Returns: nil for evidence that names no transaction, such as a receipt without purchases.
    package static func transactionId(of evidence: Span<UInt8>) -> String? {
        var nested = InspectionLimits.nested
        // The newest record of a receipt comes first.
        let found = Inspection(evidence, member: "", depth: 0, records: 1, nested: &nested)
        var newest: Named?
        found.collect(&newest)
        return newest?.id
    }

    /// An identifier, and when the App Store last changed what it names.
    private struct Named {
        var id: String
        var date: Int64
    }

    private func collect(_ newest: inout Named?) {
        for named in [receiptTransaction, payloadTransaction].compactMap(\.self)
        where newest == nil || named.date > newest?.date ?? .min {
            newest = named
        }
        for item in nested { item.collect(&newest) }
    }

    private var receiptTransaction: Named? {
        guard let record = receipt?.inApp.first,
            let id = record.transactionId ?? record.originalTransactionId, !id.isEmpty
        else { return nil }
        return Named(id: id, date: record.purchaseDate?.milliseconds ?? .min)
    }

    private var payloadTransaction: Named? {
        guard receipt == nil, let root = payload?.root else { return nil }
        let ids = Self.names.lazy.compactMap { root[$0]?.string }.filter { !$0.isEmpty }
        guard let id = ids.first else { return nil }
        return Named(
            id: id, date: root["purchaseDate"]?.int64 ?? root["signedDate"]?.int64 ?? .min)
    }

    /// Of a transaction, of renewal information and requests, of transaction receipts, of an app
    /// transaction: the App Store finds customers by each.
    private static let names = [
        "transactionId", "originalTransactionId", "transaction-id", "original-transaction-id",
        "appTransactionId",
    ]
}
