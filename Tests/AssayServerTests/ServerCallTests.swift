import Assay
import AssayClient
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Compares the server's answers with the library's.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct ServerCallTests {
    @Test func answersPingHealthAndInfo() async throws {
        try await withClient { test, client in
            try await client.ping()
            #expect(try await client.health())
            let info = try await client.info()
            #expect(info.version == "test")
            #expect(info.kinds == EvidenceKind.allCases)
            #expect(info.proto.contains("message RequestHead"))
            let limits = ServerLimits()
            #expect(info.limits.frameBytes == UInt32(limits.frameBytes))
            #expect(info.limits.headBytes == UInt32(limits.headBytes))
            #expect(info.limits.jwsBytes == UInt32(limits.jwsBytes))
            #expect(info.limits.notificationBytes == UInt32(limits.notificationBytes))
            #expect(info.limits.notificationV1Bytes == UInt32(limits.notificationV1Bytes))
            #expect(info.limits.serverAnswerBytes == UInt32(limits.serverAnswerBytes))
            #expect(info.limits.requestsInFlight == UInt32(limits.requestsInFlight))
            #expect(info.limits.resolveItems == UInt32(limits.resolveItems))
            let roots = test.verifier.trust.anchors
            #expect(info.trustedRoots.map(\.fingerprint) == roots.map(\.fingerprint))
            #expect(info.trustedRoots.count { $0.development } == 2)
        }
    }

    @Test("devices of a request are bounded before their hashes are computed")
    func devices() async throws {
        let receipt = try Minted.receipt(bytes: 3_000)
        let own = [UInt8](repeating: 0xA5, count: 16)
        let most = Expectations.otherDeviceLimit
        try await withClient { test, client in
            for (others, verdict) in [
                (Array(repeating: [UInt8](0..<6), count: most - 1) + [own], Verdict.valid),
                (Array(repeating: [UInt8](0..<6), count: most), .mismatch),
            ] {
                let call = VerifyCall(
                    kind: .appReceipt, expectations: Expectations(otherDeviceIdentifiers: others))
                #expect(try await client.verify(receipt, call).verification.verdict == verdict)
            }
            let expectations = Expectations(
                otherDeviceIdentifiers: Array(repeating: own, count: most + 1))
            let raw = try RawClient(test.unix)
            try raw.send(RawClient.verify(1, .appReceipt, receipt, expecting: expectations))
            try raw.send(RawClient.resolve(2, [(nil, receipt)]) { $0.expectations = expectations })
            for _ in 1...2 {
                let head = try raw.receive()?.head
                #expect(head?.status == .invalidArgument)
                #expect(head?.message.contains("32 other devices") == true)
            }
        }
    }

    /// Over the wire evidence has no JSON of its own: the body carries it.
    private func expectSame(
        _ kind: EvidenceKind, _ evidence: [UInt8], _ expectations: Expectations = .none,
        policy: Policy = Minted.policy, verdict: Verdict, _ test: SocketServer,
        _ client: AssayClient
    ) async throws {
        let own = test.verifier.verify(
            evidence.span, as: kind, policy: policy, expecting: expectations, at: Minted.now)
        #expect(own.verdict == verdict, "\(kind): \(own.detail)")
        let call = VerifyCall(kind: kind, expectations: expectations, returnsPayloadJSON: true)
        let answer = try await client.verify(evidence, call)
        let theirs = answer.verification
        #expect(theirs.verdict == own.verdict && theirs.detail == own.detail)
        #expect(theirs.kind == own.kind && theirs.environment == own.environment)
        #expect(theirs.dedupKey == own.dedupKey && theirs.certificate == own.certificate)
        // Encoded and decoded once, as on the wire.
        let codec = MessageCodec()
        var head: [UInt8] = []
        codec.encode(ResponseHead(id: 1, result: .verification(own)), into: &head)
        let expected = try codec.decodeResponse(head.span)
        #expect(expected.result == .verification(theirs), "\(kind)")
        #expect((theirs.evidence != nil) == (verdict == .valid))
        let json = own.evidence?.payloadJSON ?? []
        if json.isEmpty {
            #expect(answer.payloadJSON == [] || answer.payloadJSON == Array("}".utf8))
        } else {
            let members = json.map { "\"\($0.name)\":" + String(decoding: $0.json, as: UTF8.self) }
            let text = "{" + members.joined(separator: ",") + "}"
            #expect(String(decoding: answer.payloadJSON, as: UTF8.self) == text)
        }
        let bare = try await client.verify(
            evidence, VerifyCall(kind: kind, expectations: expectations, returnsTypedPayload: false)
        )
        #expect(bare.verification.verdict == verdict && bare.verification.evidence == nil)
        #expect(bare.payloadJSON.isEmpty)
    }

    @Test func verdictsMatchTheLibrary() async throws {
        let foreign = try Minted.foreign.get()
        try await withClient { test, client in
            for kind in Minted.jwsKinds {
                let token = try Minted.token(kind)
                try await expectSame(kind, token, verdict: .valid, test, client)
                try await expectSame(
                    kind, Minted.tampered(token), verdict: .invalidSignature, test, client)
                try await expectSame(
                    kind, Minted.token(kind, by: foreign), verdict: .untrustedChain, test, client)
                // These two kinds name no bundle.
                if kind != .realtimeRequest && kind != .renewalInfo {
                    try await expectSame(
                        kind, Minted.token(kind, bundleId: "com.example.other"),
                        verdict: .wrongBundle, test, client)
                }
                try await expectSame(
                    kind, token, Expectations(environments: [.production]),
                    verdict: .wrongEnvironment, test, client)
            }
            try await expectSame(
                .transaction, Minted.token(.renewalInfo), verdict: .wrongKind, test, client)
            try await expectSame(
                .transaction, Array("a.b".utf8), verdict: .malformed, test, client)
            try await expectSame(.transaction, [], verdict: .malformed, test, client)
        }
    }

    @Test func purchasesOfOtherStoresMatchTheLibrary() async throws {
        let minter = try StoreMinter()
        var policy = Minted.policy
        policy.google.keys = [try PurchaseKey(minter.publicKey)]
        policy.huawei.keys = policy.google.keys
        let text = Samples.googlePurchase(
            index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
            signedDate: Minted.now, state: 4)
        let ofHuawei = Samples.huaweiPurchase(
            index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
            signedDate: Minted.now)
        let purchase = try minter.sign(text, .google)
        let cases: [(EvidenceKind, [UInt8], Expectations, Verdict)] = [
            (.googlePurchase, purchase, .none, .valid),
            (.googlePurchase, purchase, Expectations(productIds: ["gold"]), .valid),
            (.googlePurchase, purchase, Expectations(productIds: ["silver"]), .mismatch),
            (.googlePurchase, purchase, Expectations(bundleId: "x"), .wrongBundle),
            (.googlePurchase, try minter.sign(text, .huawei), .none, .invalidSignature),
            (.googlePurchase, Array("{}".utf8), .none, .malformed),
            (.googlePurchase, [], .none, .malformed),
            (.huaweiPurchase, try minter.sign(ofHuawei, .huawei), .none, .valid),
            (.huaweiPurchase, try minter.sign(ofHuawei, .huaweiPSS), .none, .valid),
        ]
        try await withClient {
            guard let entry = $0.apps["game"] else { return }
            $0.apps["game"] = AppEntry(verifier: entry.verifier, policy: policy)
        } _: { test, client in
            for (kind, evidence, expectations, verdict) in cases {
                try await expectSame(
                    kind, evidence, expectations, policy: policy, verdict: verdict, test, client)
            }
            let answer = try await client.verify(purchase, as: .googlePurchase)
            #expect(answer.verification.state == .pending)
        }
    }

    /// Answers of one and of many tokens, with known and with unknown chains.
    @Test func serverAnswersMatchTheLibrary() async throws {
        func history(_ count: Int, by authority: DevelopmentCA) throws -> [UInt8] {
            try Minter(authority.chain).mintHistory(
                indices: 0..<count, bundleId: Minted.bundleId, appAppleId: 1_234_567_890,
                environment: .sandbox, signedDate: Minted.now)
        }
        let authority = try Minted.authority.get()
        try await withClient { test, client in
            for count in [0, 1, 20, 100] {
                let answer = try history(count, by: authority)
                try await expectSame(.serverAnswer, answer, verdict: .valid, test, client)
            }
            let foreign = try history(3, by: Minted.foreign.get())
            try await expectSame(.serverAnswer, foreign, verdict: .untrustedChain, test, client)
            let broken = Minted.tampered(try history(20, by: authority))
            try await expectSame(.serverAnswer, broken, verdict: .invalidSignature, test, client)
            let token = try Minted.transaction.get()
            try await expectSame(.serverAnswer, token, verdict: .malformed, test, client)
        }
    }

    @Test func notificationsOfVersion1MatchTheLibrary() async throws {
        func body(_ receipt: [UInt8]) -> [UInt8] {
            Array(#"{"bid":"x","unified_receipt":{"latest_receipt":""#.utf8)
                + ReceiptMinter.base64(receipt) + Array(#""}}"#.utf8)
        }
        let receipt = try Minted.receipt(bytes: 100_000)
        let other = try Minted.receipt(bytes: 5_000, bundleId: "com.example.other")
        try await withClient { test, client in
            let cut = body(Array(receipt.dropLast()))
            try await expectSame(.notificationV1, body(receipt), verdict: .valid, test, client)
            try await expectSame(.notificationV1, body(other), verdict: .wrongBundle, test, client)
            try await expectSame(.notificationV1, cut, verdict: .malformed, test, client)
        }
    }

    @Test(arguments: [3_000, 200_000])
    func receiptsMatchTheLibrary(bytes: Int) async throws {
        let receipt = try Minted.receipt(bytes: bytes)
        let other = try Minted.receipt(bytes: bytes, bundleId: "com.example.other")
        var broken = receipt
        broken[broken.count / 2] ^= 1
        try await withClient { test, client in
            let base64 = ReceiptMinter.base64(receipt, lineLength: 76)
            try await expectSame(.appReceipt, receipt, verdict: .valid, test, client)
            try await expectSame(.appReceipt, base64, verdict: .valid, test, client)
            try await expectSame(.appReceipt, other, verdict: .wrongBundle, test, client)
            let cut = Array(receipt.dropLast())
            try await expectSame(.appReceipt, cut, verdict: .malformed, test, client)
            let own = test.verifier.verify(
                broken.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            #expect(own.verdict != .valid)
            try await expectSame(.appReceipt, broken, verdict: own.verdict, test, client)
            let call = VerifyCall(kind: .appReceipt, returnsVerifyReceiptJSON: true)
            let answer = try await client.verify(receipt, call)
            #expect(answer.payloadJSON.starts(with: Array("{".utf8)))
        }
    }

    @Test func charactersAroundATokenMatchTheLibrary() async throws {
        try await withClient { _ in
        } _: { test, client in
            let token = try Minted.transaction.get()
            for (end, verdict) in [
                ("", Verdict.valid), ("\n", .valid), ("\r\n", .valid), ("\n\n", .malformed),
                (" ", .malformed), ("\"", .malformed),
            ] {
                try await expectSame(
                    .transaction, token + Array(end.utf8), verdict: verdict, test, client)
            }
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func applesReceiptsMatchTheLibrary() async throws {
        let folder = "sk1/unified"
        let files = Vectors.files(in: folder, suffix: ".der")
        try Vectors.report(folder, files.count)
        // Every receipt is verified both ways: whole, and streamed.
        for streamed in [1, 1 << 20] {
            try await withClient {
                $0.limits.streamedReceiptBytes = streamed
            } _: { test, client in
                for file in files {
                    let receipt = try #require(Vectors.bytes("\(folder)/\(file)"))
                    let own = test.verifier.verify(
                        receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
                    try await expectSame(
                        .appReceipt, receipt, verdict: own.verdict, test, client)
                }
            }
        }
    }

    /// Any of Apple's apps, for evidence that Apple signed.
    private static let anyApp = Policy(bundleId: nil, environments: [.production, .sandbox])

    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func applesTransactionReceiptsMatchTheLibrary() async throws {
        let folder = "sk1/legacy"
        let files = Vectors.files(in: folder, suffix: ".txt")
        try Vectors.report(folder, files.count)
        var valid = 0
        try await withClient {
            $0.apps["game"] = $0.apps["game"]?.with(Self.anyApp)
        } _: { test, client in
            for file in files {
                let text = try #require(Vectors.bytes("\(folder)/\(file)"))
                let base64 = try #require(
                    Vectors.bytes("\(folder)/" + file.dropLast(4) + ".b64"))
                let own = test.verifier.verify(
                    text.span, as: .transactionReceipt, policy: Self.anyApp, at: Minted.now)
                for bytes in [text, base64] {
                    try await expectSame(
                        .transactionReceipt, bytes, policy: Self.anyApp, verdict: own.verdict,
                        test, client)
                }
                if own.verdict == .valid { valid += 1 }
            }
        }
        #expect(valid > 0)
    }

    @Test func verifyReceiptMatchesTheLibrary() async throws {
        var evidence: [(EvidenceKind, [UInt8])] = [
            (.appReceipt, try Minted.receipt(bytes: 5_000)),
            (.appReceipt, try Minted.receipt(bytes: 100_000)),
            (.appReceipt, Array(try Minted.receipt(bytes: 5_000).dropLast())),
            (.transactionReceipt, Array("{}".utf8)),
        ]
        for (folder, suffix, kind) in [
            ("sk1/unified", ".der", EvidenceKind.appReceipt),
            ("sk1/legacy", ".txt", .transactionReceipt),
        ] {
            for file in Vectors.files(in: folder, suffix: suffix) {
                evidence.append((kind, try #require(Vectors.bytes("\(folder)/\(file)"))))
            }
        }
        try await withClient {
            $0.apps["game"] = $0.apps["game"]?.with(Self.anyApp)
        } _: { test, client in
            for (kind, bytes) in evidence {
                let own = test.verifier.verify(
                    bytes.span, as: kind, policy: Self.anyApp, at: Minted.now)
                let call = VerifyCall(kind: kind, returnsVerifyReceiptJSON: true)
                let answer = try await client.verify(bytes, call)
                #expect(answer.verification.verdict == own.verdict)
                #expect(
                    String(decoding: answer.payloadJSON, as: UTF8.self)
                        == String(
                            decoding: verifyReceiptResponse(for: own, requestDate: Minted.now),
                            as: UTF8.self))
            }
        }
    }

    /// The app entry of a server without configuration: any environment that a request names,
    /// and only Production when it names none.
    @Test func unnamedEnvironments() async throws {
        try await withClient { configuration in
            configuration.apps = configuration.apps.mapValues { app in
                var policy = app.policy
                policy.environments = Set(StoreEnvironment.known)
                return app.with(policy, unnamedEnvironments: [.production])
            }
        } _: { test, client in
            for bytes in [try Minted.receipt(bytes: 100_000), try Minted.receipt(bytes: 2_000)] {
                try await verdicts(of: bytes, as: .appReceipt, client)
            }
            try await verdicts(of: try Minted.transaction.get(), as: .transaction, client)
        }
    }

    private func verdicts(
        of evidence: [UInt8], as kind: EvidenceKind, _ client: AssayClient
    ) async throws {
        for (environments, verdict) in [
            ([], Verdict.wrongEnvironment), ([.production], .wrongEnvironment),
            ([.sandbox], .valid), ([.xcode, .sandbox], .valid),
        ] as [([StoreEnvironment], Verdict)] {
            let call = VerifyCall(
                kind: kind, expectations: Expectations(environments: environments))
            let answer = try await client.verify(evidence, call)
            #expect(answer.verification.verdict == verdict, "\(kind) \(environments)")
        }
    }
}
