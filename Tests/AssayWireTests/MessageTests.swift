import AssayModels
import AssayWire
import TestSupport
import Testing

/// Tests that heads survive a round trip through the codec.
struct MessageTests {
    private let codec = MessageCodec()

    private func roundTrip(_ head: RequestHead) throws -> RequestHead {
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        return try codec.decodeRequest(bytes.span)
    }

    private func roundTrip(_ head: ResponseHead) throws -> ResponseHead {
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        return try codec.decodeResponse(bytes.span)
    }

    @Test(arguments: [RequestHead.Call.health, .info, .ping, .unknown])
    func bareCall(_ call: RequestHead.Call) throws {
        for id in [0, 1, 127, 128, UInt64.max] {
            let bare = RequestHead(id: id, call: call)
            #expect(try roundTrip(bare) == bare)
            let full = RequestHead(
                id: id, call: call, app: "a\0pp", timeoutMilliseconds: .max)
            #expect(try roundTrip(full) == full)
        }
    }

    @Test("a trace survives, and a text that names none is ignored")
    func traceContext() throws {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let trace = try #require(TraceContext(text))
        var head = RequestHead(id: 1, call: .ping, app: "app")
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        func decoded(_ value: String) throws -> RequestHead {
            let field: [UInt8] = [0x1a, UInt8(value.utf8.count)] + Array(value.utf8)
            return try codec.decodeRequest((bytes + field).span)
        }
        for value in ["", "-", text + "-", "ff" + text.dropFirst(2)] {
            #expect(try decoded(value) == head)
        }
        head.trace = trace
        #expect(try decoded(text) == head && roundTrip(head) == head)
        let refusal = ResponseHead(id: 1, status: .unavailable, traceId: trace.traceId)
        #expect(try roundTrip(refusal) == refusal)
        #expect(ResponseHead(id: 1, status: .unavailable).naming(trace) == refusal)
        let pong = ResponseHead(id: 1, result: .pong)
        #expect(pong.naming(trace) == pong)
    }

    @Test(arguments: Sample.Style.allCases)
    func verifyCall(_ style: Sample.Style) throws {
        for kind in EvidenceKind.allCases.map(Optional.some) + [nil] {
            for expectations in [Expectations.none, .sample(style)] {
                for (typed, json) in [(true, false), (false, true), (true, true), (false, false)] {
                    let call = VerifyCall(
                        kind: kind, expectations: expectations, returnsTypedPayload: typed,
                        returnsPayloadJSON: json)
                    let head = RequestHead(id: 7, call: .verify(call))
                    #expect(try roundTrip(head) == head)
                }
            }
        }
    }

    @Test(arguments: AssayWire.Status.allCases)
    func status(_ status: AssayWire.Status) throws {
        let results: [ResponseHead.CallResult] = [
            .none, .pong, .health(serving: true), .health(serving: false),
        ]
        for result in results {
            let bare = ResponseHead(id: 1, status: status, result: result)
            #expect(try roundTrip(bare) == bare)
            let full = ResponseHead(
                id: .max, status: status, message: "ö\0", retryAfterMilliseconds: .max,
                result: result)
            #expect(try roundTrip(full) == full)
        }
    }

    @Test(arguments: Sample.Style.allCases)
    func everyPayload(_ style: Sample.Style) throws {
        for evidence in Self.evidence(style) {
            for certificate in [SigningCertificate.sample(style), nil] {
                let verification = Verification(
                    verdict: .valid, detail: "all checks passed", kind: .notification,
                    environment: .sandbox, dedupKey: "", evidenceKey: "e",
                    certificate: certificate,
                    evidence: evidence, state: .pending)
                let head = ResponseHead(id: 9, result: .verification(verification))
                #expect(try roundTrip(head) == head)
            }
        }
    }

    /// An empty payload is not an absent payload.
    @Test func absentFields() throws {
        let evidence: [VerifiedEvidence?] = [
            nil, .transaction(bare(.init())), .renewalInfo(bare(.init())),
            .appTransaction(bare(.init())),
            .notification(
                VerifiedNotification(
                    notification: bare(.init()), transaction: nil, renewalInfo: nil,
                    appTransaction: nil)),
            .serverAnswer(ServerAnswer()),
            .notificationV1(.init(receipt: AppReceipt(), unsigned: .init())),
            .serverAnswer(ServerAnswer(transactions: [bare(.init())])),
        ]
        for evidence in evidence {
            let head = ResponseHead(
                id: 9,
                result: .verification(
                    Verification(verdict: .valid, detail: "", evidence: evidence)))
            #expect(try roundTrip(head) == head)
        }
    }

    @Test(arguments: Verdict.allCases)
    func verdict(_ verdict: Verdict) throws {
        let head = ResponseHead(
            id: 2, result: .verification(Verification(verdict: verdict, detail: "why")))
        #expect(try roundTrip(head) == head)
    }

    @Test func info() throws {
        let limits = ServerInfo.Limits(
            frameBytes: .max, headBytes: 1, jwsBytes: 2, notificationBytes: 3, requestsInFlight: 4,
            serverAnswerBytes: 5, notificationV1Bytes: 6)
        let root = ServerInfo.TrustedRoot(
            name: "Apple Root CA - G3", fingerprint: "63343abfb8", notAfter: .init(milliseconds: 5),
            development: false)
        let info = ServerInfo(
            version: "1", kinds: EvidenceKind.allCases, limits: limits,
            trustedRoots: [root, root], proto: protoText, engine: "ifma")
        let head = ResponseHead(id: 3, result: .info(info))
        #expect(try roundTrip(head) == head)
        let bare = ResponseHead(
            id: 3,
            result: .info(
                .init(version: "", kinds: [], limits: limits, trustedRoots: [], proto: "")))
        #expect(try roundTrip(bare) == bare)
    }

    @Test func protoTextIsTheContract() throws {
        let contract = try #require(
            Vectors.bytes(Vectors.packageRoot + "/proto/assay/v1/assay.proto"))
        #expect(Array(protoText.utf8) == contract)
    }

    /// The samples set every field. A field that a model has and Message/ or the samples lack
    /// fails here.
    @Test func samplesAreComplete() {
        for evidence in Self.evidence(.full) {
            // Receipts have tests of their own.
            if case .notificationV1(let notification) = evidence {
                Self.expectPresent(notification.unsigned)
            } else {
                Self.expectPresent(evidence)
            }
        }
    }

    /// Around the sizes at which a length takes another byte, and beyond the memory that the writer
    /// keeps; after each a short message, with nothing of the long one.
    @Test func lengths() throws {
        let edges = [0, 1, 127, 128, 129, 16_383, 16_384, 200_000, 2_097_152]
        for length in edges + Array(65_500...65_540) {
            let text = String(repeating: "x", count: length)
            let long = ResponseHead(
                id: .max, message: text,
                result: .verification(Verification(verdict: .malformed, detail: text)))
            #expect(try roundTrip(long) == long, "\(length)")
            #expect(try roundTrip(ResponseHead(id: 1)) == ResponseHead(id: 1), "\(length)")
        }
        var output: [UInt8] = []
        codec.encode(RequestHead(id: 300, call: .ping), into: &output)
        #expect(output == [0x08, 0xAC, 0x02, 0x42, 0x00])
    }

    @Test func frame() throws {
        var output: [UInt8] = [1, 2, 3]
        codec.encodeFrame(RequestHead(id: 5, call: .ping), body: [9, 8], into: &output)
        codec.encodeFrame(ResponseHead(id: 5, result: .pong), into: &output)
        output.removeFirst(3)
        guard case .frame(let request) = FrameDecoder().next(in: output.span) else {
            Issue.record("no frame")
            return
        }
        #expect(Array(output[request.body]) == [9, 8])
        let head = Array(output[request.head])
        #expect(try codec.decodeRequest(head.span) == RequestHead(id: 5, call: .ping))
        output.removeFirst(request.end)
        guard case .frame(let response) = FrameDecoder().next(in: output.span) else {
            Issue.record("no frame")
            return
        }
        #expect(response.body.isEmpty && response.end == output.count)
    }

    static func evidence(_ style: Sample.Style) -> [VerifiedEvidence] {
        [
            .transaction(bare(.sample(style))), .renewalInfo(bare(.sample(style))),
            .appTransaction(bare(.sample(style))), .realtimeRequest(bare(.sample(style))),
            .notification(
                VerifiedNotification(
                    notification: bare(.sample(style)), transaction: bare(.sample(style)),
                    renewalInfo: bare(.sample(style)), appTransaction: bare(.sample(style)),
                    dedupKey: "n")),
            .serverAnswer(.sample(style)), .notificationV1(.sample(style)),
            .googlePurchase(bare(.sample(style))), .huaweiPurchase(bare(.sample(style))),
            .harmonyPurchase(bare(.sample(style))), .harmonySubscription(bare(.sample(style))),
            .harmonyNotification(bare(.sample(style))),
            .googleNotification(bare(.sample(style))),
            .huaweiNotification(bare(.sample(style))),
        ]
    }

    private static func expectPresent(_ value: Any, path: String = "") {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            #expect(mirror.children.count == 1, "\(path) is absent in the sample")
        }
        for child in mirror.children {
            expectPresent(child.value, path: "\(path).\(child.label ?? "")")
        }
    }
}

extension VerifiedNotificationV1 {
    fileprivate static func sample(_ style: Sample.Style) -> Self {
        var receipt = AppReceipt()
        receipt.receiptType = "Production"
        receipt.bundleId = "b"
        receipt.inApp.append(InAppPurchaseReceipt())
        var record = InAppPurchaseReceipt()
        (record.productId, record.dedupKey) = ("p", "a key of another rule")
        receipt.inApp.append(record)
        receipt.warnings = [EvidenceWarning(code: .receiptExpired, message: "", member: "")]
        return VerifiedNotificationV1(
            receipt: receipt, unsigned: .sample(style),
            warnings: [EvidenceWarning(code: .unsignedDisagrees, message: "m", member: "bid")])
    }
}

extension ServerAnswer {
    fileprivate static func sample(_ style: Sample.Style) -> Self {
        ServerAnswer(
            transactions: [bare(.sample(style)), bare(.sample(.full))],
            renewalInfos: [bare(.sample(style))], appTransaction: bare(.sample(style)),
            notifications: [
                VerifiedNotification(
                    notification: bare(.sample(style)), transaction: bare(.sample(style)),
                    renewalInfo: bare(.sample(style)), appTransaction: bare(.sample(style)),
                    dedupKey: "",
                    warnings: [EvidenceWarning(code: .unknownContainer, message: "m", member: "n")])
            ],
            unsigned: .sample(style),
            warnings: [
                EvidenceWarning(code: .incomplete, message: "m", member: "hasMore"),
                EvidenceWarning(code: .init(rawValue: "LATER"), message: "", member: ""),
            ],
            dedupKeys: ["k", ""])
    }
}

/// Returns a payload without its JSON, which a head does not carry.
private func bare<P>(_ payload: P) -> VerifiedPayload<P> {
    VerifiedPayload(payload, json: [])
}
