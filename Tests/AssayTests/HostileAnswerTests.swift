@testable import Assay
import AssayMint
import AssayModels
import Testing

/// Lines 91 to 97 of the catalogue of hostile input: answers of the App Store Server API.
@Suite struct HostileAnswerTests {
    private typealias Answers = ServerAnswers

    @Test("line 91: an answer of 10,000 tokens, and one more member than the limit")
    func tooManyTokens() {
        let short = Fixture.quoted(Array("a.b.c".utf8))
        func text(_ count: Int) -> String {
            #"{"signedTransactions":["#
                + [String](repeating: short, count: count).joined(separator: ",") + "]}"
        }
        let limit = Limits.serverAnswerTokens
        for count in [limit + 1, 10_000] {
            let answer = Answers.verify(Array(text(count).utf8))
            Fixture.expect(answer, .malformed, comment: "\(count)")
            #expect(answer.detail.contains("more than \(limit) signed members"))
        }
        let fitting = Answers.verify(Array(text(limit).utf8))
        #expect(fitting.detail.hasPrefix("signedTransactions[0]: "), "\(fitting.detail)")
        let entries = [String](repeating: "{}", count: limit + 1).joined(separator: ",")
        let empty = Array(#"{"data":[{"lastTransactions":[\#(entries)]}]}"#.utf8)
        Fixture.expect(Answers.verify(empty), .malformed, comment: "entries without tokens")
    }

    @Test("line 91: the size limit of an answer, at it and one byte above")
    func sizeLimit() throws {
        let answer = Answers.history([Answers.token()])
        for (extra, verdict) in [(0, Verdict.valid), (1, .malformed)] {
            let spaces = Limits.serverAnswerBytes - answer.count + extra
            let padded = answer + [UInt8](repeating: UInt8(ascii: " "), count: spaces)
            Fixture.expect(Answers.verify(padded), verdict)
            #expect((Verifier.likelyKind(of: padded.span) == .serverAnswer) == (verdict == .valid))
        }
        // As many tokens as an answer can hold are verified together.
        let token = Answers.token()
        let count = min(Limits.serverAnswerTokens, Limits.serverAnswerBytes / (token.count + 4))
        let whole = Answers.verify(Answers.history([[UInt8]](repeating: token, count: count)))
        #expect(try #require(whole.serverAnswer).transactions.count == count)
    }

    @Test("line 92: one bad token among a hundred refuses the answer, and detail names it")
    func oneBadToken() {
        let payload = Fixture.payload()
        let cases: [(String, Verdict, [UInt8])] = [
            ("flipped", .invalidSignature, Fixture.token(payload, signature: { $0[5] ^= 4 })),
            ("foreign", .untrustedChain, Fixture.token(payload, Fixture.foreignCA.chain)),
            ("none", .unsupportedAlgorithm, Fixture.token(payload, header: { $0.alg = "none" })),
            ("unsigned", .malformed, payload), ("empty", .malformed, []),
            ("future", .invalidDate, Fixture.token(Fixture.payload(signed: Fixture.time(301)))),
            ("line break", .malformed, Answers.token() + Array(#"\n"#.utf8)),
            ("itself an answer", .malformed, Array(#"{\"signedTransactions\":[]}"#.utf8)),
        ]
        let good = Answers.tokens(100)
        for index in [0, 57, 99] {
            for (name, verdict, token) in cases {
                var tokens = good
                tokens[index] = name == "unsigned" ? Array("{}".utf8) : token
                let answer = Answers.verify(Answers.history(tokens))
                Fixture.expect(answer, verdict, comment: "\(name) at \(index)")
                #expect(
                    answer.detail.hasPrefix("signedTransactions[\(index)]: "), "\(answer.detail)")
            }
        }
    }

    @Test("line 92: the name of the bad token in every shape")
    func namesOfBadTokens() {
        let bad = Fixture.token(Fixture.payload(), signature: { $0[5] ^= 4 })
        let badRenewal = Fixture.token(Fixture.payload(.renewalInfo), signature: { $0[5] ^= 4 })
        let outer = Fixture.token(Fixture.payload(.notification), signature: { $0[5] ^= 4 })
        let data = """
            {"bundleId":"\(Fixture.bundle)","appAppleId":\(Fixture.app),"environment":"Production",\
            "signedTransactionInfo":\(Fixture.quoted(bad))}
            """
        let inner = Fixture.token(Fixture.payload(.notification, changing: ["data": data]))
        let good = Answers.token()
        let cases: [([UInt8], String)] = [
            (
                Answers.statuses([("1", good, nil), ("1", good, badRenewal)]),
                "data[0].lastTransactions[1].signedRenewalInfo: "
            ),
            (Answers.single([("signedTransactionInfo", bad)]), "signedTransactionInfo: "),
            (
                Answers.notifications([Answers.notification(), outer]),
                "notificationHistory[1].signedPayload: "
            ),
            (
                Answers.notifications([inner, Answers.notification()]),
                "notificationHistory[0].signedPayload: data.signedTransactionInfo: "
            ),
            (Answers.single([("signedPayload", outer)]), "signedPayload: "),
        ]
        for (evidence, prefix) in cases {
            let answer = Answers.verify(evidence)
            Fixture.expect(answer, .invalidSignature, comment: prefix)
            #expect(answer.detail.hasPrefix(prefix), "\(answer.detail)")
        }
    }

    @Test("line 92: a changed byte of an answer never changes what is verified")
    func changedBytes() throws {
        let original = Answers.statuses(
            [("1", Answers.token(), Answers.token(.renewalInfo))], "\"hasMore\":false")
        let genuine = try #require(Answers.verify(original).serverAnswer)
        let step = 29
        var refused = 0
        for position in stride(from: 0, to: original.count, by: step) {
            for mask in [UInt8(0x01), 0x20] {
                var changed = original
                changed[position] ^= mask
                // A member can vanish under another name.
                guard let answer = Answers.verify(changed).serverAnswer else {
                    refused += 1
                    continue
                }
                #expect(answer.transactions.allSatisfy(genuine.transactions.contains))
                #expect(answer.renewalInfos.allSatisfy(genuine.renewalInfos.contains))
                #expect(answer.signedCount <= genuine.signedCount, "\(position)")
            }
        }
        #expect(refused > original.count / step)
    }

    @Test("line 93: two customers in one answer are reported, not refused")
    func mixedCustomers() throws {
        func token(_ account: String?) -> [UInt8] {
            Fixture.token(
                Fixture.payload(changing: ["appAccountToken": account.map { "\"\($0)\"" }]))
        }
        let one = "5b0d1e1a-0000-4000-8000-000000000001"
        let other = "5b0d1e1a-0000-4000-8000-000000000002"
        let cases: [([String?], Bool)] = [
            ([one, one], false), ([one, nil], false), ([one, one.uppercased()], false),
            ([one, other], true), ([nil, other, one], true),
        ]
        for (accounts, isMixed) in cases {
            let verification = Answers.verify(Answers.history(accounts.map(token)))
            Fixture.expect(verification, .valid)
            let answer = try #require(verification.serverAnswer)
            #expect(answer.codes == (isMixed ? [.customersMixed] : []), "\(accounts)")
        }
    }

    @Test("line 94: a page of another app, and pages of two apps or environments mixed")
    func otherApps() {
        let other = Fixture.token(Fixture.payload(bundle: "com.example.other"))
        let sandbox = Fixture.token(Fixture.payload(environment: .sandbox))
        let good = Answers.token()
        let open = Policy(bundleId: nil, environments: [.production, .sandbox, .unspecified])
        let unnamed = Fixture.token(Fixture.payload(changing: ["environment": nil]))
        let cases: [([[UInt8]], Policy, Verdict)] = [
            ([other, other], Fixture.policy, .wrongBundle),
            ([good, other], Fixture.policy, .wrongBundle),
            ([good, sandbox], Fixture.policy, .wrongEnvironment),
            ([other, other], open, .valid), ([good, other], open, .wrongBundle),
            ([sandbox, sandbox], open, .valid), ([sandbox, good], open, .wrongEnvironment),
            ([good, unnamed], open, .valid), ([good, unnamed], Fixture.policy, .wrongEnvironment),
        ]
        for (index, (tokens, policy, verdict)) in cases.enumerated() {
            let answer = Answers.verify(Answers.history(tokens), policy: policy)
            Fixture.expect(answer, verdict, comment: "case \(index)")
        }
        let app = Fixture.token(Fixture.payload(.appTransaction, changing: ["appAppleId": "7"]))
        Fixture.expect(
            Answers.verify(Answers.single([("signedAppTransactionInfo", app)])), .wrongApp)
    }

    @Test("line 95: duplicate member names in an answer, escapes resolved")
    func duplicateMembers() {
        let token = Fixture.quoted(Answers.token())
        for text in [
            #"{"signedTransactions":[\#(token)],"signedTransactions":[\#(token)]}"#,
            #"{"signedTransactions":[\#(token)],"signed\u0054ransactions":[]}"#,
            #"{"hasMore":false,"signedTransactions":[\#(token)],"hasMore":true}"#,
            #"{"data":[{"lastTransactions":[],"lastTransactions":[]}]}"#,
            """
            {"data":[{"lastTransactions":[{"signedTransactionInfo":\(token),\
            "signedTransactionInfo":\(token)}]}]}
            """,
        ] {
            let answer = Answers.verify(Array(text.utf8))
            Fixture.expect(answer, .malformed, comment: String(text.prefix(60)))
            #expect(answer.detail.contains("duplicate"))
        }
    }

    @Test("line 96: deep nesting in an answer")
    func deepNesting() {
        let token = Fixture.quoted(Answers.token())
        for (depth, verdict) in [(30, Verdict.valid), (31, .valid), (32, .malformed)] {
            let nested =
                String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let text = #"{"more":\#(nested),"signedTransactions":[\#(token)]}"#
            Fixture.expect(Answers.verify(Array(text.utf8)), verdict, comment: "\(depth)")
        }
        let bomb = [UInt8](repeating: UInt8(ascii: "["), count: Limits.serverAnswerBytes)
        Fixture.expect(Answers.verify(Array(#"{"data":"#.utf8) + bomb.dropLast(8)), .malformed)
    }

    @Test("line 97: a token of another kind than its member's is refused")
    func wrongKinds() {
        let tokens: [(EvidenceKind, [UInt8])] = [
            (.transaction, Answers.token()), (.renewalInfo, Answers.token(.renewalInfo)),
            (.appTransaction, Answers.token(.appTransaction)),
            (.notification, Answers.notification()),
            (.realtimeRequest, Answers.token(.realtimeRequest)),
        ]
        let members: [(EvidenceKind, ([UInt8]) -> [UInt8])] = [
            (.transaction, { Answers.history([$0]) }),
            (.transaction, { Answers.statuses([("1", $0, nil)]) }),
            (.renewalInfo, { Answers.statuses([("1", Answers.token(), $0)]) }),
            (.transaction, { Answers.single([("signedTransactionInfo", $0)]) }),
            (.renewalInfo, { Answers.single([("signedRenewalInfo", $0)]) }),
            (.appTransaction, { Answers.single([("signedAppTransactionInfo", $0)]) }),
            (.notification, { Answers.single([("signedPayload", $0)]) }),
            (.notification, { Answers.notifications([$0]) }),
        ]
        for (expected, make) in members {
            for (kind, token) in tokens {
                Fixture.expect(
                    Answers.verify(make(token)), kind == expected ? .valid : .wrongKind,
                    comment: "\(kind) for \(expected)")
            }
        }
    }
}
