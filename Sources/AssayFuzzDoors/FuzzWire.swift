import AssayModels
import AssayWire

/// Inputs to begin with.
extension FuzzDoors {
    private static let calls: [RequestHead.Call] = [
        .ping, .health, .info,
        .verify(
            VerifyCall(
                kind: .notification,
                expectations: Expectations(
                    bundleId: bundle, appAppleId: 1, environments: [.production, .sandbox],
                    productIds: ["a", "b"], appAccountToken: "t", transactionId: "1",
                    deviceIdentifier: [1, 2, 3], notOlderThan: now),
                returnsPayloadJSON: true, inApp: .latest)),
    ]

    private static let transaction = {
        var payload = JWSTransactionDecodedPayload()
        payload.transactionId = "1"
        payload.bundleId = bundle
        payload.signedDate = now
        return payload
    }()

    private static let results: [ResponseHead.CallResult] = [
        .none, .pong, .health(serving: true),
        .verification(
            Verification(
                verdict: .valid, detail: "d", kind: .transaction, environment: .production,
                dedupKey: "k",
                certificate: SigningCertificate(serial: "1f", notAfter: now, expired: false),
                evidence: .transaction(
                    VerifiedPayload(
                        transaction, json: [])))),
        .verification(Verification(verdict: .wrongBundle, detail: "another bundle")),
    ]

    public static var headSeeds: [[UInt8]] {
        let codec = MessageCodec()
        func encoded(_ encode: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes: [UInt8] = []
            encode(&bytes)
            return bytes
        }
        return calls.map { call in
            encoded { codec.encode(RequestHead(id: 7, call: call, app: "a"), into: &$0) }
        }
            + results.map { result in
                encoded { codec.encode(ResponseHead(id: 7, result: result), into: &$0) }
            }
    }

    public static var frameSeeds: [[UInt8]] {
        let codec = MessageCodec()
        var frames: [UInt8] = []
        for call in calls {
            codec.encodeFrame(RequestHead(id: 7, call: call), body: [1, 2, 3], into: &frames)
        }
        return [frames, Array("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 4, 0, 0, 0, 0]]
    }
}
