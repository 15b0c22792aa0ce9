import AssayModels

extension ReceiptMinter {
    /// A signed receipt with as many of the sample's records as fit that size, in DER.
    public func sign(
        _ sample: ReceiptSample, size: Int
    ) throws(MintError) -> [UInt8] {
        var sample = sample
        sample.records = .bytes(max(size - (try overhead()), 0))
        return try sign(sample.payload)
    }
}
