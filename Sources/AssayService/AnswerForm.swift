import Assay
package import AssayEntitlements
package import AssayModels
package import AssayTelemetry
package import AssayWire

/// How the answer to one request is written: its protocol, and what the request asks for. Any
/// thread can use it. A form writes the result; the session writes what surrounds it, on the loop's
/// thread.
package protocol AnswerForm: Sendable {
    /// The trace to which the request belongs; nil without one.
    var trace: RequestTrace? { get }

    /// Whether the kind of the evidence is an estimate, and the verification detects it.
    var detectsKind: Bool { get }

    /// Whether a verification is answered in the form of verifyReceipt.
    func isVerifyReceipt(_ call: VerifyCall) -> Bool

    /// Whether it is the answer of Apple's endpoint, which has no kinds.
    var isOfApple: Bool { get }

    /// Appends the answer to a verification.
    func append(
        _ verification: Verification, answering id: UInt64, _ call: VerifyCall,
        at now: Timestamp, by codec: MessageCodec, to output: inout [UInt8]
    ) throws(AnswerFault)

    /// How the answer to a verification is completed with what the App Store says; nil where it
    /// needs nothing of it.
    func completion(of verification: Verification) -> (any StoreCompletion)?

    /// Encodes the answer to a Resolve.
    func encode(
        _ entitlements: Entitlements, of items: [EvidenceItem], answering id: UInt64,
        _ call: ResolveCall, at now: Timestamp, by codec: MessageCodec
    ) -> EncodedAnswer

    /// Encodes the answer to a Fetch.
    func encode(
        _ found: CustomerState, answering id: UInt64, _ call: FetchCall, at now: Timestamp,
        by codec: MessageCodec
    ) -> EncodedAnswer
}

extension AnswerForm {
    package func completion(of verification: Verification) -> (any StoreCompletion)? { nil }
}

/// Makes the answer to a receipt from its verification, and from what the App Store says of its
/// customer. Any thread can use it.
package protocol StoreCompletion: Sendable {
    /// What to ask.
    var query: CustomerQuery { get }

    /// The answer.
    ///
    /// - Parameters:
    ///   - found: nil if the App Store does not know the transaction.
    ///   - receipt: the receipt as it was sent; nil if it was not kept.
    func answer(_ found: CustomerState?, receipt: [UInt8]?, at now: Timestamp) -> [UInt8]

    /// The answer where the App Store did not say what it knows.
    func answer(_ failure: ResponseHead) -> [UInt8]
}

/// Why a request that was verified has no result.
package enum AnswerFault: Error, Sendable {
    /// The kind that was detected cannot have what the question expects.
    case question(String)
    /// The retention request that an answer was asked for is not valid.
    case refused(Verification)
    case signing(SigningFailure)
}

/// An answer that was encoded on any thread.
package enum EncodedAnswer: Sendable {
    case encoded([UInt8])
    /// The answer is larger than the protocol admits.
    case refused(ResponseHead)
}
