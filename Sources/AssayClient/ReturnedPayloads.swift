/// The forms in which calls return the payloads of valid evidence, beside verdicts and
/// entitlements.
public struct ReturnedPayloads: OptionSet, Sendable {
    /// The bits of the members.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The payload as typed fields. Of `verify`, `resolve` and `fetch`.
    public static let typed = ReturnedPayloads(rawValue: 1)
    /// The signed JSON: `{"payload": …}`. A notification adds `"transaction"`, `"renewalInfo"` and
    /// `"appTransaction"` if it contains them. A Server API answer has `"transactions"` and so on,
    /// and `"unsigned"`. Of `verify` and `resolve`.
    public static let json = ReturnedPayloads(rawValue: 2)
    /// verifyReceipt's JSON of a receipt, instead of `json`. Of `verify`.
    public static let verifyReceiptJSON = ReturnedPayloads(rawValue: 4)
}
