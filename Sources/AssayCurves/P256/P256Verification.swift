/// `ECDSABatch` for P-256, compiled for this curve: a generic class that another module uses is
/// not.
package final class P256Verification {
    package typealias Table = FixedBaseTable<P256>
    package typealias Outcome = ECDSABatch<P256>.Outcome

    private let batch: ECDSABatch<P256>

    package init(capacity: Int) { batch = ECDSABatch(capacity: capacity) }

    package var count: Int { batch.count }

    package func append(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) {
        batch.append(table, digest: digest, r: r, s: s)
    }

    package func verify() { batch.verify() }

    package func outcome(_ index: Int) -> Outcome { batch.outcome(index) }

    package func removeAll() { batch.removeAll() }

    /// Builds the table of the generator unless it exists.
    package static func buildGeneratorTable() { _ = P256.generatorTable }

    /// Returns nil unless the octets, `04 ‖ x ‖ y`, are a point on the curve.
    package static func table(uncompressed octets: Span<UInt8>) -> Table? {
        Table(uncompressed: octets)
    }
}
