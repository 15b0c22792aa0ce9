import Assay
import AssayModels
import AssayTelemetry
package import AssayWire

/// What the server does with a request.
package enum AdmissionDecision: ~Copyable {
    /// Rejects it.
    case refused(ResponseHead)
    /// Answers a call that needs no verification.
    case answer(ResponseHead)
    case verify(Admitted)
    case resolve(AdmittedResolve)
    case fetch(AdmittedFetch)
    /// The transaction of a Fetch has to be found in its evidence. The request is then decided
    /// again.
    case identify
}

/// A request that will be verified: its app and kind are known, and its memory is reserved.
package struct Admitted: ~Copyable {
    let id: UInt64
    package let app: AppEntry
    let kind: EvidenceKind
    let call: VerifyCall
    /// How its answer is written.
    var form: any AnswerForm
    /// Milliseconds of the loop's clock after which the client no longer waits.
    let deadline: UInt64
    let mayWait: Bool
    /// Whether the evidence is verified as it arrives, without being kept.
    let isStreamed: Bool
    /// The limit of the kind, if the evidence is above it.
    var exceeded: Int?
    var reservation: Reservation
}

/// A Fetch request that will be answered: its app asks the App Store, and a slot is free.
package struct AdmittedFetch: Sendable {
    let id: UInt64
    let app: AppEntry
    let fetcher: any Fetcher
    let call: FetchCall
    /// How its answer is written.
    let form: any AnswerForm
    /// Milliseconds of the loop's clock after which the client no longer waits.
    let deadline: UInt64
}

/// A Resolve request that will be answered: its app, its kinds and its lengths are known. Its
/// memory is reserved item by item as they arrive: a declared length reserves none.
package struct AdmittedResolve: Sendable {
    let id: UInt64
    let app: AppEntry
    package let call: ResolveCall
    /// How its answer is written.
    let form: any AnswerForm
    /// Milliseconds of the loop's clock after which the client no longer waits.
    package let deadline: UInt64
    let mayWait: Bool

    /// The verification of an item as a call of its own.
    func itemCall(_ kind: EvidenceKind) -> VerifyCall {
        VerifyCall(
            kind: kind, expectations: call.expectations,
            returnsTypedPayload: call.returnsTypedPayloads,
            returnsPayloadJSON: call.returnsPayloadJSON)
    }

    /// A receipt among the items, to be verified as it arrives.
    func receipt(for peer: Peer) -> Admitted {
        Admitted(
            id: id, app: app, kind: .appReceipt, call: itemCall(.appReceipt), form: form,
            deadline: deadline, mayWait: mayWait, isStreamed: true, exceeded: nil,
            reservation: Reservation(.none, for: peer))
    }
}
