import Assay
package import AssayEntitlements
package import AssayModels
import AssayTelemetry
package import AssayWire

/// How the answer to one request is written: its protocol, and what the request asks for. Any
/// thread can use it. A form writes the result; the session writes what surrounds it, on the loop's
/// thread.
package protocol AnswerForm: Sendable {
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
