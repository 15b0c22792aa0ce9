import Assay
import AssayEntitlements
import AssayModels
import AssayWire

/// Resolve requests to a complete server.
extension FuzzTarget {
    /// A connection with Resolve requests. First four bytes: the split of the rest into writes.
    /// Invariants: those of a connection; each item has the library's verdict, the entitlements are
    /// the library's, and the order of the items decides nothing.
    static func resolve(_ authority: FuzzAuthority) -> FuzzTarget {
        let server = FuzzServer(authority)
        return FuzzTarget(
            "Resolve", seeds: resolveSeeds(authority),
            mutate: { FuzzResolve.mutate($0, &$1, authority) }
        ) { bytes in server.check(bytes) }
    }

    private static func resolveSeeds(_ authority: FuzzAuthority) -> [[UInt8]] {
        let cuts: [UInt8] = [255, 1, 0, 40]
        let items = authority.genuine.map { (ResolveCall.Kind.named($0.kind), $0.bytes) }
        let detected = items.map { (ResolveCall.Kind.detected, $0.1) }
        let tokens = (0..<3).map { _ in (ResolveCall.Kind.detected, items[0].1) }
        return [items, detected, tokens, Array(items.prefix(1)), []].map { items in
            cuts + FuzzResolve(items).frame(1) + FuzzResolve(items.reversed()).frame(2)
        }
    }
}

/// The content of one Resolve request.
struct FuzzResolve {
    var call: ResolveCall
    var body: [UInt8]

    init(call: ResolveCall, body: [UInt8]) {
        self.call = call
        self.body = body
    }

    init(_ items: [(kind: ResolveCall.Kind, evidence: [UInt8])]) {
        call = ResolveCall(
            items: items.map { ResolveCall.Item($0.kind, length: UInt32($0.evidence.count)) },
            returnsPayloadJSON: true)
        body = items.flatMap(\.evidence)
    }

    func frame(_ id: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageCodec().encodeFrame(
            RequestHead(id: id, call: .resolve(call)), body: body, into: &bytes)
        return bytes
    }

    /// The items' bytes; nil if their lengths do not add up to the body's.
    private var evidence: [[UInt8]]? {
        guard call.evidenceBytes == body.count else { return nil }
        var (all, start): ([[UInt8]], Int) = ([], 0)
        for item in call.items {
            all.append(Array(body[start..<start + Int(item.length)]))
            start += Int(item.length)
        }
        return all
    }

    // MARK: Check

    func check(_ resolution: Resolution, _ json: [UInt8], _ authority: FuzzAuthority) {
        guard let evidence else { preconditionFailure("resolved, and the lengths do not add up") }
        precondition(resolution.items.count == evidence.count && !evidence.isEmpty)
        let moment = call.at ?? FuzzAuthority.now
        var items: [EvidenceItem] = []
        for (index, bytes) in evidence.enumerated() {
            let direct = verify(bytes, call.items[index].kind, authority)
            authority.check(direct)
            items.append(EvidenceItem(direct, label: call.items[index].label))
            var (wire, own) = (resolution.items[index].verification, direct)
            precondition(
                (wire.evidence != nil) == (call.returnsTypedPayloads && own.verdict == .valid))
            (wire.evidence, own.evidence) = (nil, nil)
            precondition(wire == own, "over the wire, another verdict")
        }
        let lengths = resolution.items.reduce(0) { $0 + Int($1.payloadJSONLength) }
        precondition(lengths == json.count && (json.isEmpty || call.returnsPayloadJSON))
        let own = Entitlements(of: items, at: moment, policy: call.policy)
        precondition(resolution.entitlements == own, "over the wire, other entitlements")
        let reversed = Entitlements(of: items.reversed(), at: moment, policy: call.policy)
        precondition(reversed.withoutItems == own.withoutItems, "the order decides")
        let twice = Entitlements(of: items + items, at: moment, policy: call.policy)
        precondition(twice.withoutItems == own.withoutItems, "a duplicate decides")
    }

    private func verify(
        _ bytes: [UInt8], _ kind: ResolveCall.Kind, _ authority: FuzzAuthority
    ) -> Verification {
        var known: EvidenceKind?
        if case .named(let kind) = kind { known = kind }
        known = known ?? Verifier.likelyKind(of: bytes.span)
        // At the server's time, whatever the moment of the decision.
        let direct = authority.verifier.verify(
            bytes.span, as: known ?? .transaction, policy: FuzzAuthority.policy,
            expecting: call.expectations, at: FuzzAuthority.now)
        return known == nil ? direct.ofUnknownKind : direct
    }

    // MARK: Mutation

    static func mutate(
        _ input: [UInt8], _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) -> [UInt8] {
        guard input.count > 4, !mutation.once(in: 16) else { return mutation.usual(input) }
        let stream = FuzzFrame.mutate(input[4...], &mutation) { frame, mutation in
            let codec = MessageCodec()
            guard var head = try? codec.decodeRequest(frame.head.span),
                case .resolve(let call) = head.call
            else { return }
            var resolve = FuzzResolve(call: call, body: frame.body)
            resolve.change(&mutation, authority)
            head.call = .resolve(resolve.call)
            frame.head = []
            codec.encode(head, into: &frame.head)
            frame.body = resolve.body
        }
        return stream.map { input[..<4] + $0 } ?? mutation.usual(input)
    }

    private mutating func change(_ mutation: inout FuzzMutation, _ authority: FuzzAuthority) {
        guard var evidence, !evidence.isEmpty else { return }
        let index = mutation.below(evidence.count)
        switch mutation.below(8) {
        case 0: call.items[index].length = UInt32(mutation.element(of: [0, 1, 1 << 31, 4096]))
        case 1: call.items[index].kind = .detected
        case 2: call.items[index].kind = .named(mutation.element(of: EvidenceKind.allCases))
        case 3:
            let seconds = Int64(mutation.below(2_000_000_000))
            call.at = Timestamp(
                milliseconds: mutation.element(of: [seconds * 1000, 0, .min, .max]))
        case 4: call.returnsTypedPayloads.toggle()
        case 5:
            evidence.remove(at: index)
            call.items.remove(at: index)
            body = evidence.flatMap(\.self)
        default:
            evidence[index] =
                mutation.once(in: 2)
                ? mutation.usual(evidence[index]) : mutation.element(of: authority.genuine).bytes
            call.items[index].length = UInt32(evidence[index].count)
            body = evidence.flatMap(\.self)
        }
    }
}

extension Entitlements {
    /// Without the indices of items, which depend on the order.
    fileprivate var withoutItems: Entitlements {
        var copy = self
        for index in copy.apps.indices { copy.apps[index].forgetItems() }
        for index in copy.warnings.indices { copy.warnings[index].item = nil }
        copy.superseded = []
        return copy
    }
}

extension AppEntitlements {
    fileprivate mutating func forgetItems() {
        for index in subscriptionGroups.indices {
            subscriptionGroups[index].deciding.decidedBy.item = 0
            for offset in subscriptionGroups[index].subscriptions.indices {
                subscriptionGroups[index].subscriptions[offset].decidedBy.item = 0
            }
        }
        for index in nonConsumables.indices { nonConsumables[index].decidedBy.item = 0 }
        for index in nonRenewing.indices { nonRenewing[index].decidedBy.item = 0 }
        for index in consumables.indices { consumables[index].decidedBy.item = 0 }
    }
}
