@testable import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Answers of the App Store Server API as evidence.
@Suite struct ServerAnswerTests {
    private typealias Answers = ServerAnswers

    @Test func everyShape() throws {
        for (name, evidence, signed) in Answers.shapes {
            let verification = Answers.verify(evidence)
            Fixture.expect(verification, .valid, comment: name)
            #expect(verification.kind == .serverAnswer)
            #expect(verification.environment == .production)
            #expect(verification.certificate != nil)
            let answer = try #require(verification.serverAnswer)
            #expect(answer.signedCount == signed, "\(name)")
            #expect(answer.warnings.isEmpty, "\(name): \(answer.warnings)")
        }
    }

    @Test func membersEqualSingleVerifications() throws {
        let tokens = Answers.tokens(5)
        let answer = try #require(Answers.verify(Answers.history(tokens)).serverAnswer)
        for (index, token) in tokens.enumerated() {
            guard case .transaction(let single) = Fixture.verify(token).evidence else {
                Issue.record("no transaction")
                continue
            }
            #expect(answer.transactions[index] == single)
        }
        let notifications = Answers.notifications([Answers.notification(4)])
        let nested = try #require(Answers.verify(notifications).serverAnswer?.notifications.first)
        #expect(nested.transaction?.json == Fixture.payload(index: 4))
        #expect(nested.renewalInfo?.json == Fixture.payload(.renewalInfo, index: 4))
    }

    /// A batch, the cache and other items never change an answer.
    @Test func batchesGiveTheSameAnswer() {
        let broken = Answers.history([Answers.token(), Array("a.b.c".utf8)])
        let all = Answers.shapes.map(\.answer) + [broken]
        let items = all.map { Verifier.BatchItem($0, as: .serverAnswer, policy: Fixture.policy) }
        let tokens = Answers.tokens(3).map {
            Verifier.BatchItem($0, as: .transaction, policy: Fixture.policy)
        }
        let fresh = Verifier(trust: Fixture.verifier.trust)
        for batch in [items + tokens, tokens + items, items.reversed() + tokens] {
            let expected = batch.map {
                Fixture.verify($0.evidence, as: $0.kind, by: Verifier(trust: fresh.trust))
            }
            #expect(fresh.verify(batch, at: Fixture.now) == expected)
        }
    }

    @Test func escapesAndSpacesInTheText() {
        let text = Fixture.text(Answers.token())
        let escaped = text.replacing("e", with: #"\u0065"#)
        let plain = Answers.verify(Array(#"{"signedTransactions":["\#(text)"]}"#.utf8))
        Fixture.expect(plain, .valid)
        for json in [
            #" { "signedTransactions" : [ "\#(escaped)" ] } "#,
            #"{"signed\u0054ransactions":["\#(text)"],"unknown":[{"a":null}]}"#,
            #"{"data":null,"signedTransactions":["\#(text)"],"hasMore":null}"#,
        ] {
            #expect(Answers.verify(Array(json.utf8)) == plain, "\(json.prefix(40))")
        }
    }

    // MARK: Unsigned members

    @Test func unsignedMembersAreEchoed() throws {
        let members = """
            "environment":"Sandbox","bundleId":"com.example.other","appAppleId":7,\
            "revision":"r1","hasMore":true,"paginationToken":"p1","status":0
            """
        let verification = Answers.verify(Answers.history(Answers.tokens(1), members))
        Fixture.expect(verification, .valid)
        #expect(verification.environment == .production, "the signed one")
        let answer = try #require(verification.serverAnswer)
        var expected = UnsignedAnswerMembers()
        expected.environment = .sandbox
        expected.bundleId = "com.example.other"
        expected.appAppleId = 7
        expected.revision = "r1"
        expected.hasMore = true
        expected.paginationToken = "p1"
        expected.status = 0
        #expect(answer.unsigned == expected)
        #expect(answer.codes == [.incomplete, .unsignedDisagrees, .unsignedDisagrees])
        #expect(answer.warnings.map(\.member) == ["hasMore", "environment", "bundleId"])
        let json = try #require(verification.evidence?.payloadJSON)
        #expect(json.map(\.name) == ["transactions", "dedupKeys", "unsigned", "warnings"])
        #expect(Fixture.text(json[0].json) == "[" + Fixture.text(Fixture.payload(index: 0)) + "]")
        #expect(
            Fixture.text(json[2].json) == "{" + members + "}")
    }

    @Test func appIdsAreCompared() {
        let app = Answers.token(.appTransaction)
        for (id, disagrees) in [("\(Fixture.app)", false), ("7", true)] {
            let text = """
                {"appAppleId":\(id),"signedAppTransactionInfo":\(Fixture.quoted(app))}
                """
            let answer = Answers.verify(Array(text.utf8)).serverAnswer
            #expect(answer?.codes == (disagrees ? [.unsignedDisagrees] : []))
        }
    }

    /// A status is compared with what the signed members say at their date.
    @Test func statusesAreCompared() throws {
        let now = Fixture.now.milliseconds
        func transaction(_ changes: KeyValuePairs<String, String?>) -> [UInt8] {
            Fixture.token(Fixture.payload(changing: changes))
        }
        func renewal(_ changes: KeyValuePairs<String, String?>) -> [UInt8] {
            Fixture.token(Fixture.payload(.renewalInfo, changing: changes))
        }
        let active = transaction([:])
        let ended = transaction(["expiresDate": "\(now)"])
        let lasting = transaction(["expiresDate": "\(now + 1)"])
        let revoked = transaction(["revocationDate": "\(now)"])
        let upgraded = transaction(["isUpgraded": "true", "expiresDate": "\(now)"])
        let retry = renewal(["isInBillingRetryPeriod": "true"])
        let grace = renewal([
            "isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "\(now + 1)",
        ])
        let over = renewal([
            "isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "\(now)",
        ])
        let cases: [([UInt8], [UInt8]?, agreeing: [Int32])] = [
            (active, nil, [1]), (lasting, retry, [1]), (ended, nil, [2, 3, 4]),
            (ended, renewal([:]), [2]), (ended, retry, [3]), (ended, grace, [4]),
            (ended, over, [3]), (revoked, grace, [5]), (upgraded, nil, [1, 2, 3, 4, 5]),
        ]
        for (index, (transaction, renewalInfo, agreeing)) in cases.enumerated() {
            // Unknown statuses of the future are no disagreement.
            for status in Int32(0)...7 {
                let evidence = Answers.statuses([("\(status)", transaction, renewalInfo)])
                let answer = try #require(Answers.verify(evidence).serverAnswer)
                let agrees = agreeing.contains(status) || !(1...5).contains(status)
                #expect(answer.warnings.isEmpty == agrees, "case \(index), status \(status)")
                #expect(answer.unsigned.subscriptions.first?.status?.rawValue == status)
            }
        }
        let text = Fixture.text(Answers.statuses([("1", active, nil)]))
        let other = text.replacing("{\"status\"", with: #"{"originalTransactionId":"9","status""#)
        let warning = Answers.verify(Array(other.utf8)).serverAnswer?.warnings.first
        #expect(warning?.member == "data[0].lastTransactions[0].originalTransactionId")
    }

    // MARK: Nothing signed

    @Test func answersWithoutEvidence() throws {
        for text in [
            #"{"signedTransactions":[]}"#, #"{"signedTransactions":[],"hasMore":false}"#,
            #"{"data":[]}"#, #"{"data":[{"lastTransactions":[]}]}"#,
            #"{"notificationHistory":[]}"#, #"{"status":1}"#,
            #"{"status":1,"signedTransactions":[]}"#,
        ] {
            let verification = Answers.verify(Array(text.utf8))
            Fixture.expect(verification, .valid, comment: text)
            let answer = try #require(verification.serverAnswer)
            #expect(answer.signedCount == 0 && answer.codes == [.noEvidence], "\(text)")
            #expect(verification.environment == nil && verification.dedupKey == nil)
            #expect(verification.certificate == nil && verification.detail.contains("nothing"))
        }
    }

    @Test func otherTextIsMalformed() {
        let token = Fixture.quoted(Answers.token())
        for text in [
            "", "{", "[]", "1", "null", "{}", #"{"hasMore":false}"#,
            #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#,
            #"{"signedTransactions":\#(token)}"#, #"{"signedTransactions":{}}"#,
            #"{"signedTransactions":[1]}"#, #"{"signedTransactions":[null]}"#,
            #"{"signedTransactions":[[\#(token)]]}"#, #"{"signedTransactions":[""]}"#,
            #"{"signedTransactions":[\#(token)]}x"#, #"[{"signedTransactions":[\#(token)]}]"#,
            #"{"signedTransactions":["a.b.c\n"]}"#, #"{"signedTransactionInfo":1}"#,
            #"{"data":[1]}"#, #"{"data":[{}]}"#, #"{"data":[{"lastTransactions":[1]}]}"#,
            #"{"data":[{"lastTransactions":[{"status":"1"}]}]}"#,
            #"{"data":[{"lastTransactions":[{"signedTransactionInfo":1}]}]}"#,
            #"{"data":[{"lastTransactions":[{"originalTransactionId":1}]}]}"#,
            #"{"notificationHistory":[{}]}"#, #"{"notificationHistory":[\#(token)]}"#,
            #"{"appAppleId":"blue","signedTransactions":[\#(token)]}"#,
            #"{"hasMore":1,"signedTransactions":[\#(token)]}"#,
            #"{"signedTransactionInfo":\#(token),"signedTransactions":[\#(token)]}"#,
            #"{"data":[],"notificationHistory":[]}"#,
            #"{"signedPayload":"a.b.c","notificationHistory":[]}"#,
        ] {
            Fixture.expect(Answers.verify(Array(text.utf8)), .malformed, comment: text)
        }
        Fixture.expect(Answers.verify(Answers.token()), .malformed, comment: "a token alone")
    }

    /// The App Store Server API omits members that only a device knows.
    @Test func appTransactionOfTheServer() throws {
        let token = Fixture.token(
            Fixture.payload(
                .appTransaction,
                changing: [
                    "applicationVersion": nil, "versionExternalIdentifier": nil,
                    "deviceVerification": nil, "deviceVerificationNonce": nil, "requestDate": nil,
                ]))
        let evidence = Answers.single([("signedAppTransactionInfo", token)])
        let answer = try #require(Answers.verify(evidence).serverAnswer)
        #expect(answer.appTransaction?.payload.originalApplicationVersion == "3877")
        let bare = Fixture.token(
            Fixture.payload(
                .appTransaction,
                changing: ["applicationVersion": nil, "receiptCreationDate": nil]))
        let refused = Answers.verify(Answers.single([("signedAppTransactionInfo", bare)]))
        Fixture.expect(refused, .wrongKind)
    }

    // MARK: Kinds

    @Test func kindIsDetected() {
        for (name, evidence, _) in Answers.shapes where name != "test notification" {
            #expect(Verifier.likelyKind(of: evidence.span) == .serverAnswer, "\(name)")
        }
        let token = Fixture.quoted(Answers.notification())
        for (text, kind) in [
            (#"{"signedPayload":\#(token)}"#, EvidenceKind.notification),
            (#"{"signedPayload":\#(token),"sendAttempts":[]}"#, .serverAnswer),
            (#"{"firstSendAttemptResult":"SUCCESS","signedPayload":\#(token)}"#, .serverAnswer),
        ] {
            #expect(Verifier.likelyKind(of: Array(text.utf8).span) == kind, "\(text.prefix(40))")
        }
        for text in [
            #"{"status":1}"#, #"{"Store":"AppleAppStore"}"#, #"{"data":{"bundleId":"a"}}"#,
            "{}", "{",
        ] {
            #expect(Verifier.likelyKind(of: Array(text.utf8).span) == nil, "\(text)")
        }
    }

    // MARK: Expectations

    /// The app and the environment hold for every member; one member has to meet the others.
    @Test func expectations() throws {
        let history = Answers.history(Answers.tokens(3))
        let first = try #require(Answers.verify(history).serverAnswer?.transactions.first?.payload)
        let id = try #require(first.transactionId)
        let token = try #require(first.appAccountToken)
        let product = try #require(first.productId)
        let cases: [(Expectations, Verdict)] = [
            (Expectations(bundleId: Fixture.bundle), .valid),
            (Expectations(bundleId: "com.example.other"), .wrongBundle),
            (Expectations(environments: [.production]), .valid),
            (Expectations(environments: [.sandbox]), .wrongEnvironment),
            (Expectations(transactionId: id), .valid),
            (Expectations(transactionId: id + "0"), .mismatch),
            (Expectations(productIds: ["x", product]), .valid),
            (Expectations(productIds: ["x"]), .mismatch),
            (Expectations(appAccountToken: token.uppercased()), .valid),
            (Expectations(appAccountToken: "x"), .mismatch),
            (Expectations(productIds: ["x"], transactionId: id), .mismatch),
            (Expectations(notOlderThan: Fixture.now), .valid),
            (Expectations(notOlderThan: Fixture.time(1)), .mismatch),
            (Expectations(deviceIdentifier: [1]), .mismatch),
        ]
        for (expectations, verdict) in cases {
            let answer = Answers.verify(history, expecting: expectations)
            Fixture.expect(answer, verdict, comment: "\(expectations)")
        }
        let empty = Array(#"{"signedTransactions":[]}"#.utf8)
        Fixture.expect(
            Answers.verify(empty, expecting: Expectations(transactionId: id)), .mismatch)
        let notifications = Answers.notifications([Answers.notification(0)])
        Fixture.expect(
            Answers.verify(notifications, expecting: Expectations(transactionId: id)), .valid)
    }

    /// An answer has no key of its own; each of its transactions has one.
    @Test func deduplicationKeys() throws {
        let key = try #require(Fixture.verify(Answers.token()).dedupKey)
        for (name, evidence, _) in Answers.shapes {
            let answer = Answers.verify(evidence)
            #expect(answer.dedupKey == nil && answer.evidenceKey != nil, "\(name)")
            let found = try #require(answer.serverAnswer)
            #expect(found.dedupKeys.count == found.transactions.count, "\(name)")
            #expect(found.dedupKeys.allSatisfy { $0 == key }, "\(name)")
            #expect(found.notifications.allSatisfy { $0.dedupKey != nil }, "\(name)")
        }
    }

    /// A customer can write the answer: a genuine transaction that names no environment, put beside
    /// one of Production, does not become one of Production.
    @Test func membersNeverTakeAnEnvironment() throws {
        let open = Policy(
            bundleId: Fixture.bundle, environments: [.production, .sandbox, .unspecified])
        let old = Fixture.token(Fixture.payload(index: 2, changing: ["environment": nil]))
        for tokens in [[Answers.token(), old], [old, Answers.token()]] {
            let edited = Answers.history(tokens, "\"environment\":\"Production\"")
            Fixture.expect(Answers.verify(edited), .wrongEnvironment)
            let answer = Answers.verify(edited, policy: open)
            Fixture.expect(answer, .valid)
            #expect(answer.environment == .unspecified)
            let prefixes = try #require(answer.serverAnswer).dedupKeys.map { $0.prefix(11) }
            #expect(Set(prefixes) == ["Production/", "Unspecified"])
        }
        let history = Answers.history([Answers.token(), Answers.token()])
        #expect(Answers.verify(history, policy: open).environment == .production)
    }

    /// Nobody signs which transaction and which renewal information stand side by side.
    @Test func pairsAreCompared() throws {
        let own = Answers.token(.renewalInfo)
        let other = Answers.token(.renewalInfo, 2)
        let (transaction, path) = (Answers.token(), "data[0].lastTransactions[1]")
        for (renewalInfo, disagrees) in [(own, false), (other, true)] {
            let codes: [EvidenceWarning.Code] = disagrees ? [.customersMixed, .pairDisagrees] : []
            let statuses = Answers.verify(
                Answers.statuses([("1", transaction, own), ("1", transaction, renewalInfo)]))
            let found = try #require(statuses.serverAnswer)
            #expect(Set(found.codes) == Set(codes))
            #expect(found.warnings.last?.member == (disagrees ? path : nil))
            let single = Answers.verify(
                Answers.single([
                    ("signedTransactionInfo", transaction), ("signedRenewalInfo", renewalInfo),
                ]))
            #expect(Set(try #require(single.serverAnswer).codes) == Set(codes))
        }
    }

    /// Two app transaction ids in one answer are of two Apple accounts.
    @Test func appTransactionIdsAreCompared() throws {
        let payload = Fixture.payload(changing: ["appAccountToken": nil])
        let token = Fixture.token(payload)
        let twice = Answers.verify(Answers.history([token, token]))
        #expect(try #require(twice.serverAnswer).codes.isEmpty)
        let other = Fixture.payload(
            changing: ["appAccountToken": nil, "appTransactionId": "\"7\""])
        let mixed = Answers.verify(Answers.history([token, Fixture.token(other)]))
        #expect(try #require(mixed.serverAnswer).codes == [.customersMixed])
    }

    /// An unknown chain of any member defers the answer until the chain has validated.
    @Test func unknownChainsDefer() throws {
        let other = Fixture.chain()
        let tokens = [Answers.token(), Fixture.token(Fixture.payload(), other)]
        let evidence = Answers.history(tokens)
        let verifier = Verifier(trust: Fixture.verifier.trust)
        func ending() -> PreparedVerification {
            var batch = [
                verifier.prepare(
                    evidence.span, as: .serverAnswer, policy: Fixture.policy, at: Fixture.now,
                    unknownChains: .deferred)
            ]
            verifier.verifySignatures(&batch)
            return batch[0]
        }
        #expect(ending().unknownChain != nil)
        Fixture.expect(Fixture.verify(tokens[0], by: verifier), .valid)
        #expect(ending().unknownChain != nil)
        Fixture.expect(Fixture.verify(tokens[1], by: verifier), .valid)
        let last = ending()
        #expect(last.unknownChain == nil)
        #expect(last.verification == Answers.verify(evidence))
    }

    // MARK: Apple's data

    /// The payloads of Apple's libraries' tests, in the answers of the same tests.
    @Test(.enabled(if: Vectors.has("apple-lib/mock_signed_data")))
    func applesMembers() throws {
        func file(_ name: String) throws -> [UInt8] {
            try #require(Vectors.bytes("apple-lib/" + name))
        }
        let trust = try TrustStore.empty.pinning(file("certs/testCA.der"), development: false)
        let policy = Policy(bundleId: "com.example", environments: [.sandbox])
        let names = [
            "getAllSubscriptionStatusesResponse", "transactionHistoryResponse",
            "getRefundHistoryResponse", "lookupOrderIdResponse", "transactionInfoResponse",
            "getNotificationHistoryResponse", "getTestNotificationStatusResponse",
        ]
        let transaction = Fixture.text(try file("mock_signed_data/transactionInfo"))
        let renewal = Fixture.text(try file("mock_signed_data/renewalInfo"))
        let notification = Fixture.text(try file("mock_signed_data/testNotification"))
        for name in names {
            var text = Fixture.text(try file("models/\(name).json"))
            text.replace(/"signed_transaction[a-z0-9_]*"/, with: "\"\(transaction)\"")
            text.replace(/"signed_renewal[a-z0-9_]*"/, with: "\"\(renewal)\"")
            text.replace(/"signed_payload[a-z0-9_]*"/, with: "\"\(notification)\"")
            let evidence = Array(text.utf8)
            let verification = Verifier(trust: trust).verify(
                evidence.span, as: .serverAnswer, policy: policy,
                at: Timestamp(milliseconds: 1_795_219_200_000))
            Fixture.expect(verification, .valid, comment: name)
            #expect(try #require(verification.serverAnswer).signedCount > 0, "\(name)")
            #expect(Verifier.likelyKind(of: evidence.span) == .serverAnswer, "\(name)")
        }
        try Vectors.report("answers of apple-lib", names.count)
    }
}
