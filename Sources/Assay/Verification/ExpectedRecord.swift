import AssayBytes
import AssayModels

/// The expectations of an in-app record, prepared once for all records of a receipt. Records are
/// checked before the receipt's signature. So a check allocates no memory, and takes as long for
/// a thousand expected products as for one.
struct ExpectedRecord: Sendable {
    /// The expected products; nil for any.
    private let products: OctetTable?
    private let transactionId: [UInt8]?

    /// Nil when the caller expects nothing that a record has.
    init?(_ expectations: Expectations) {
        guard !expectations.productIds.isEmpty || expectations.transactionId != nil else {
            return nil
        }
        products = expectations.productIds.isEmpty ? nil : OctetTable(expectations.productIds)
        transactionId = expectations.transactionId.map { Array($0.utf8) }
    }

    /// Whether a record with this product and transaction id is expected. Empty means absent.
    func matches(product: Span<UInt8>, transactionId id: Span<UInt8>) -> Bool {
        if let products, product.count == 0 || !products.contains(product) { return false }
        if let transactionId { return id.count > 0 && id.equals(transactionId) }
        return true
    }
}

/// A set of texts, looked up by their octets without copying.
private struct OctetTable: Sendable {
    private let seed = UInt64.random(in: 1...UInt64.max)
    /// The texts by keyed hash. Two texts with one hash are next to impossible.
    private var texts: [UInt64: [[UInt8]]] = [:]

    init(_ all: [String]) {
        texts.reserveCapacity(all.count)
        for text in all {
            let octets = Array(text.utf8)
            guard !contains(octets.span) else { continue }
            texts[octets.span.quickHash(seed: seed), default: []].append(octets)
        }
    }

    func contains(_ octets: Span<UInt8>) -> Bool {
        guard let found = texts[octets.quickHash(seed: seed)] else { return false }
        return found.contains { octets.equals($0) }
    }
}
