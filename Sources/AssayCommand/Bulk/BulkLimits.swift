import AssayWire

/// The limits of bulk verification.
enum BulkLimits {
    /// The longest line in bytes, without its line break. A server's default frame: an app receipt
    /// of 24 MB in base64 fits.
    static let lineBytes = FrameLimits().frameBytes
    /// The size of one read. A few hundred tokens, and more than any pipe holds.
    static let chunkBytes = 512 * 1024
    /// Items in one batch: many times what the signature engine verifies at once, and few enough
    /// that the output flows steadily.
    static let batchItems = 256
    /// The evidence in one batch, unless one item is larger. Keeps receipts on all processors.
    static let batchBytes = 1024 * 1024
    /// Items that were read and are not written yet: enough for every processor, and for a server's
    /// limit of requests in flight with its default.
    static let itemsInFlight = 4096
    /// The evidence that was read and is not written yet. At least one batch can always proceed, so
    /// the most is this and the largest item.
    static let bytesInFlight = 64 * 1024 * 1024
    /// How often the progress on a terminal changes: readable, and not a cost.
    static let progressPeriod = Duration.milliseconds(250)
}
