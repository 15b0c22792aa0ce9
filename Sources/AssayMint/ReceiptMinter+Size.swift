import AssayModels

extension ReceiptMinter {
    /// Returns a signed receipt in DER with the maximum number of the sample's records that fits
    /// `size` octets.
    public func sign(
        _ sample: ReceiptSample, size: Int
    ) throws(MintError) -> [UInt8] {
        var sample = sample
        sample.records = .bytes(max(size - (try overhead()), 0))
        return try sign(sample.payload)
    }
}
