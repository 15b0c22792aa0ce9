import Assay
import AssayIO
import AssayModels
import AssayWire

/// A Verify request that the server has accepted: it will be answered. A class, as it goes from
/// hand to hand: the loop, the batch, a worker, the loop.
final class AcceptedRequest: Sendable {
    let connection: LoopBound<Connection>
    let id: UInt64
    let app: AppEntry
    let kind: EvidenceKind
    let call: VerifyCall
    let evidence: AcceptedEvidence
    /// What it counts for, until it is answered.
    let cost: RequestCost
    /// The loop's milliseconds at which nobody waits any more.
    let deadline: UInt64
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read.
    let arrived: UInt64
    let work: WorkClass
    /// It is served after those that don't, and not refused because of them.
    let mayWait: Bool

    /// - Parameter size: bytes of the evidence.
    init(
        connection: LoopBound<Connection>, id: UInt64, app: AppEntry, kind: EvidenceKind,
        call: VerifyCall, evidence: AcceptedEvidence, size: Int, cost: RequestCost,
        deadline: UInt64, arrived: UInt64, mayWait: Bool
    ) {
        self.connection = connection
        self.id = id
        self.app = app
        self.kind = kind
        self.call = call
        self.evidence = evidence
        self.cost = cost
        self.deadline = deadline
        self.arrived = arrived
        self.mayWait = mayWait
        work = WorkClass(kind, bytes: size)
    }

    /// The same for a long wait: its evidence keeps no other bytes alive.
    var forWaiting: AcceptedRequest {
        guard case .whole(let bytes) = evidence else { return self }
        return AcceptedRequest(
            connection: connection, id: id, app: app, kind: kind, call: call,
            evidence: .whole(bytes.forWaiting), size: bytes.count, cost: cost,
            deadline: deadline, arrived: arrived, mayWait: mayWait)
    }

    /// Whether it takes a worker less time than waking one does.
    var hasKnownChain: Bool {
        guard case .whole(let evidence) = evidence else { return false }
        return app.verifier.hasKnownChain(evidence.span, as: kind)
    }

    /// Whether one signature is the most that it can take: an unknown chain is put aside.
    var isSingleSignature: Bool {
        guard case .whole = evidence else { return false }
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .realtimeRequest: return true
        case .notification, .appReceipt, .transactionReceipt: return false
        }
    }
}

/// What a request brought along.
enum AcceptedEvidence: Sendable {
    /// Where it was received.
    case whole(SlabBytes)
    /// A receipt that was read while it came; what is left is its end. Indirect: it is large, and
    /// would make every other request so.
    indirect case receipt(AppReceiptStream)
}

/// Where the wire and the verifier meet.
enum RequestMapping {
    /// A request becomes a verification.
    static func prepare(
        _ request: AcceptedRequest, at now: Timestamp, unknownChains: UnknownChainPolicy
    ) -> PreparedVerification {
        switch request.evidence {
        case .whole(let evidence):
            request.app.verifier.prepare(
                evidence.span, as: request.kind, policy: request.app.policy,
                expecting: request.app.narrowed(request.call.expectations),
                inApp: request.call.inApp, at: now, unknownChains: unknownChains)
        case .receipt(let stream): stream.prepared(at: now, unknownChains: unknownChains)
        }
    }

    /// A verdict becomes an answer: a head, and a body where JSON was asked for.
    static func encode(
        _ verification: Verification, answering request: AcceptedRequest, at now: Timestamp,
        by codec: MessageCodec, into output: inout [UInt8]
    ) {
        var body: [UInt8] = []
        if request.call.returnsVerifyReceiptJSON {
            body = verifyReceiptResponse(for: verification, requestDate: now)
        } else if request.call.returnsPayloadJSON {
            body = verification.evidence?.json ?? []
        }
        codec.encodeFrame(
            answering: request.id, verification, withPayload: request.call.returnsTypedPayload,
            body: body, into: &output)
    }

    /// All signatures of the slice in one call for each verifier among its requests. Each is
    /// answered then, or put aside.
    static func verify(
        _ slice: [AcceptedRequest], at now: Timestamp, unknownChains: UnknownChainPolicy
    ) -> [PreparedVerification] {
        let verifier = slice[0].app.verifier
        if slice.allSatisfy({ $0.app.verifier === verifier }) {
            return verify(slice, by: verifier, at: now, unknownChains)
        }
        var answers = [PreparedVerification?](repeating: nil, count: slice.count)
        var rest = Array(slice.indices)
        while let first = rest.first {
            let verifier = slice[first].app.verifier
            let mine = rest.filter { slice[$0].app.verifier === verifier }
            rest.removeAll { slice[$0].app.verifier === verifier }
            let verifications = verify(mine.map { slice[$0] }, by: verifier, at: now, unknownChains)
            for (index, verification) in zip(mine, verifications) { answers[index] = verification }
        }
        return answers.map { $0! }
    }

    private static func verify(
        _ slice: [AcceptedRequest], by verifier: Verifier, at now: Timestamp,
        _ unknownChains: UnknownChainPolicy
    ) -> [PreparedVerification] {
        var batch: [PreparedVerification] = []
        batch.reserveCapacity(slice.count)
        for request in slice {
            batch.append(prepare(request, at: now, unknownChains: unknownChains))
        }
        verifier.verifySignatures(&batch)
        return batch
    }
}

extension VerifiedEvidence {
    /// The signed JSON as one object: `payload`, and beside it what a notification carries.
    fileprivate var json: [UInt8] { Self.object(payloadJSON) }

    private static func object(_ members: [(name: String, json: [UInt8])]) -> [UInt8] {
        var text: [UInt8] = []
        for (name, json) in members {
            text.append(UInt8(ascii: text.isEmpty ? "{" : ","))
            text += "\"\(name)\":".utf8
            text += json
        }
        text.append(UInt8(ascii: "}"))
        return text
    }
}
