/// Signatures over P-384, compiled for this curve: generic code that another module uses is not.
package enum P384Verification {
    package typealias Table = FixedBaseTable<P384>

    /// Verifies one signature; see `ECDSABatch.append`.
    ///
    /// - Returns: nil if another implementation has to decide.
    package static func verifies(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> Bool? {
        P384.hasFastPoints
            ? ECDSAWithTable<P384>.verify(table, digest: digest, r: r, s: s).holds
            : ECDSABatch<P384>.verifies(table, digest: digest, r: r, s: s)
    }

    /// Verifies one signature of a key without a table; see `ECDSAWithoutTable.verify`.
    ///
    /// - Returns: nil if another implementation has to decide.
    package static func verifies(
        key: Span<UInt8>, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> Bool? {
        ECDSAWithoutTable<P384>.verify(key: key, digest: digest, r: r, s: s).holds
    }

    /// Builds the table of the generator unless it exists.
    package static func buildGeneratorTable() { _ = P384.generatorTable }

    /// Returns nil unless the octets, `04 ‖ x ‖ y`, are a point on the curve.
    package static func table(uncompressed octets: Span<UInt8>) -> Table? {
        Table(uncompressed: octets)
    }
}

extension ECDSABatch {
    /// Verifies one signature; the parameters are those of `append`.
    ///
    /// - Returns: nil if another implementation has to decide.
    static func verifies(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> Bool? {
        let batch = Self(capacity: 1)
        batch.append(table, digest: digest, r: r, s: s)
        batch.verify()
        return batch.outcome(0).holds
    }
}
