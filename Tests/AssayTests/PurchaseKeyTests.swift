import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// A purchase has one key, whatever carries it, and two purchases never share one.
@Suite("Keys of purchases and statements") struct PurchaseKeyTests {
    private typealias Minted = MintedReceipts

    // MARK: One purchase in every encoding

    /// Sandbox transaction receipts are known by the beginning of their ids.
    private static func id(_ environment: StoreEnvironment, _ number: Int) -> String {
        (environment == .sandbox ? "1000000" : "4700000") + String(number, width: 9)
    }

    private static func appReceipt(
        _ purchases: [SamplePurchase], _ environment: StoreEnvironment, created: Timestamp
    ) throws -> [UInt8] {
        var sample = ReceiptSample(
            bundleId: Minted.bundleId, environment: environment, creationDate: created)
        sample.seed = UInt64(bitPattern: created.milliseconds)
        var payload = ReceiptPayload()
        for attribute in sample.attributes { payload.append(attribute) }
        for purchase in purchases { payload.append(purchase) }
        return try ReceiptMinter(Minted.ca.get().chain).sign(payload.bytes)
    }

    private static func record(
        _ id: String, original: String? = nil, type: Int64, lineItem: Int64 = 0
    ) -> SamplePurchase {
        var samples = SamplePurchases(bundleId: Minted.bundleId, until: Minted.now, seed: 1)
        var record = samples.next()
        (record.transactionId, record.originalTransactionId) = (id, original ?? id)
        (record.productType, record.webOrderLineItemId) = (type, lineItem)
        return record
    }

    private static func transaction(
        _ id: String, original: String? = nil, type: String, lineItem: String? = nil,
        _ environment: StoreEnvironment, signed: Timestamp = Fixture.now
    ) -> [UInt8] {
        Fixture.token(
            Fixture.payload(
                environment: environment, signed: signed, bundle: Minted.bundleId,
                changing: [
                    "transactionId": "\"\(id)\"", "originalTransactionId": "\"\(original ?? id)\"",
                    "type": "\"\(type)\"", "webOrderLineItemId": lineItem.map { "\"\($0)\"" },
                ]))
    }

    private static func verify(_ evidence: [UInt8], as kind: EvidenceKind) throws -> Verification {
        let root = try Minted.ca.get().rootCertificate
        let trust = try MintedRSA.trust(intermediates: [MintedRSA.intermediate()])
            .pinning(root, development: false)
            .pinning(Fixture.ca.rootCertificate, development: false)
        let policy = Policy(bundleId: Minted.bundleId, environments: [.production, .sandbox])
        let answer = Verifier(trust: trust).verify(
            evidence.span, as: kind, policy: policy, at: Minted.now)
        #expect(answer.verdict == .valid, "\(answer.detail)")
        return answer
    }

    private static func recordKeys(_ answer: Verification) -> [String?] {
        guard case .appReceipt(let receipt) = answer.evidence else { return [] }
        return receipt.inApp.map(\.dedupKey)
    }

    /// The key of a consumable in each encoding.
    private static func keys(
        _ number: Int, _ environment: StoreEnvironment
    ) throws -> [String?] {
        let id = id(environment, number)
        let later = Timestamp(milliseconds: Minted.now.milliseconds - 1000)
        let records = [record(Self.id(environment, 7), type: 1), record(id, type: 1)]
        let receipts = try [Minted.now, later].map { date in
            try verify(appReceipt(records, environment, created: date), as: .appReceipt)
        }
        for receipt in receipts { #expect(receipt.dedupKey == nil) }
        #expect(receipts[0].evidenceKey != receipts[1].evidenceKey)
        var old = MintedTransactionReceipt(leaf: try MintedRSA.leaf(), key: MintedRSA.leafKey)
        old.purchaseInfo = MintedTransactionReceipt.purchaseInfo([
            "transaction-id": id, "original-transaction-id": id,
        ])
        let token = transaction(id, type: "Consumable", environment)
        let notification = try verify(
            Fixture.token(
                Samples.notification(
                    index: 1, bundleId: Minted.bundleId, appAppleId: 0, environment: environment,
                    signedDate: Fixture.now, signedTransactionInfo: Fixture.text(token),
                    signedRenewalInfo: nil)),
            as: .notification)
        guard case .notification(let verified) = notification.evidence else { return [] }
        let answer = try verify(ServerAnswers.history([token, token]), as: .serverAnswer)
        #expect(answer.dedupKey == nil)
        return try receipts.map { recordKeys($0)[1] } + [
            verify(old.text, as: .transactionReceipt).dedupKey,
            verify(token, as: .transaction).dedupKey, notification.dedupKey, verified.dedupKey,
        ] + (answer.serverAnswer?.dedupKeys ?? [])
    }

    @Test("a consumable has one key in each of its encodings, and no other purchase has it")
    func twins() throws {
        var known: Set<String> = []
        for environment in [StoreEnvironment.sandbox, .production] {
            for number in [1, 2] {
                let keys = try Self.keys(number, environment)
                #expect(keys.count == 8)
                let expected =
                    "\(environment.rawValue)/\(Minted.bundleId)/\(Self.id(environment, number))"
                #expect(Set(keys) == [expected])
                known.insert(expected)
            }
        }
        #expect(known.count == 4)
        // The same id in the other environment is another purchase.
        let id = Self.id(.sandbox, 1)
        let other = try Self.verify(
            Self.transaction(id, type: "Consumable", .production), as: .transaction)
        let key = try #require(other.dedupKey)
        #expect(!known.contains(key))
    }

    /// Transactions of 2021 name no environment. Apple signs that of the notification around one.
    @Test("a transaction without an environment has the key of its notification's")
    func unnamedEnvironment() throws {
        let unnamed = Fixture.token(Fixture.payload(changing: ["environment": nil]))
        let notification = Fixture.token(
            Samples.notification(
                index: 1, bundleId: Fixture.bundle, appAppleId: Fixture.app,
                environment: .production, signedDate: Fixture.now,
                signedTransactionInfo: Fixture.text(unnamed), signedRenewalInfo: nil))
        let answer = Fixture.verify(notification, as: .notification)
        Fixture.expect(answer, .valid)
        #expect(answer.dedupKey == Fixture.verify(Fixture.token()).dedupKey)
    }

    @Test("two transaction ids of one purchase have one key; its neighbours have others")
    func severalIds() throws {
        func token(
            _ id: String, _ original: String, _ type: String, _ lineItem: String? = nil
        ) throws -> String? {
            try Self.verify(
                Self.transaction(
                    id, original: original, type: type, lineItem: lineItem, .production),
                as: .transaction
            ).dedupKey
        }
        func record(
            _ id: String, _ original: String, _ type: Int64, _ lineItem: Int64 = 0
        ) throws -> String? {
            let record = Self.record(id, original: original, type: type, lineItem: lineItem)
            return try Self.recordKeys(
                Self.verify(
                    Self.appReceipt([record], .production, created: Minted.now), as: .appReceipt)
            )[0]
        }
        let subscription = "Auto-Renewable Subscription"
        let prefix = "Production/\(Minted.bundleId)/"
        let table: [(key: String, found: [String?])] = try [
            (
                "10/900",
                [
                    token("11", "10", subscription, "900"), token("12", "10", subscription, "900"),
                    record("11", "10", 3, 900), record("12", "10", 3, 900),
                ]
            ),
            ("10/901", [token("12", "10", subscription, "901"), record("12", "10", 3, 901)]),
            ("20/900", [token("12", "20", subscription, "900")]),
            ("13", [token("13", "10", subscription, "0"), token("13", "10", subscription)]),
            ("30", [token("30", "30", "Non-Consumable"), token("31", "30", "Non-Consumable")]),
            ("30", [record("30", "30", 0), record("31", "30", 0)]),
            ("41", [token("41", "40", "Consumable"), record("41", "40", 1)]),
            ("42", [token("42", "40", "Non-Renewing Subscription"), record("42", "40", 2)]),
            // The end of an unknown type: a period that equals its original.
            ("52", [token("52", "50", "Later Subscription")]),
            ("50/7", [token("52", "50", "Later Subscription", "7")]),
        ]
        for (key, found) in table {
            #expect(!found.isEmpty && found.allSatisfy { $0 == prefix + key }, "\(key): \(found)")
        }
    }

    @Test("records without a type: a line item, an end and a restored copy")
    func recordsWithoutType() {
        func key(_ change: (inout InAppPurchaseReceipt) -> Void) -> String? {
            var record = InAppPurchaseReceipt()
            record.transactionId = "2"
            record.originalTransactionId = "1"
            change(&record)
            return PurchaseIdentity(record).map { KeyPrefix("Sandbox", "p").key(of: $0) }
        }
        let date = Timestamp(milliseconds: 5)
        #expect(key { _ in } == "Sandbox/p/1", "a restored copy of what is owned forever")
        #expect(key { $0.originalTransactionId = nil } == "Sandbox/p/2")
        #expect(key { $0.expiresDate = date } == "Sandbox/p/2", "a period")
        #expect(key { $0.webOrderLineItemId = 9 } == "Sandbox/p/1/9")
        #expect(key { ($0.webOrderLineItemId, $0.expiresDate) = (9, date) } == "Sandbox/p/1/9")
        #expect(key { $0.transactionId = nil } == "Sandbox/p/1")
        #expect(key { ($0.transactionId, $0.originalTransactionId) = (nil, nil) } == nil)
        // Xcode gives every transaction of a receipt the id 0.
        let xcode = { (product: String, date: Int64) in
            key {
                ($0.transactionId, $0.productId) = ("0", product)
                $0.purchaseDate = Timestamp(milliseconds: date)
            }
        }
        #expect(xcode("a", 5) == "Sandbox/p/0/a/5")
        #expect(Set([xcode("a", 5), xcode("a", 6), xcode("b", 5)]).count == 3)
        #expect(key { $0.transactionId = "0" } == nil)
    }

    // MARK: Genuine receipts

    /// The number of purchases in Apple's receipts, and that of those with more than one key. A
    /// transaction id or the line item of a subscription names the purchase.
    @Test("each purchase of Apple's receipts has one key", .enabled(if: Vectors.has("sk1/unified")))
    func genuineReceipts() throws {
        var keys: [String: Set<String>] = [:]
        var purchases: [String: Set<String>] = [:]
        var transactions = 0
        func note(
            _ app: String, _ id: String?, _ original: String?, _ item: String?, _ key: String?
        ) {
            guard let id, let key else { return }
            transactions += 1
            keys["\(app)/\(id)", default: []].insert(key)
            if let item { keys["\(app)/\(original ?? id)/\(item)", default: []].insert(key) }
            purchases[key, default: []].insert("\(app)/\(original ?? id)/\(item ?? "")")
        }
        for name in Vectors.files(in: "sk1/unified", suffix: ".der") {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name))
            let answer = Verifier(trust: .apple).verify(
                bytes.span, as: .appReceipt, policy: AppleTransactionReceiptTests.everything,
                at: Minted.now)
            guard case .appReceipt(let receipt) = answer.evidence else { continue }
            #expect(answer.dedupKey == nil && answer.evidenceKey != nil, "\(name)")
            let app = "\(receipt.environment)/\(receipt.bundleId ?? "")"
            for record in receipt.inApp {
                #expect(record.dedupKey?.hasPrefix(app + "/") == true, "\(name)")
                note(
                    app, record.transactionId, record.originalTransactionId,
                    record.webOrderLineItemId.map { String($0) }, record.dedupKey)
            }
        }
        for vector in try AppleTransactionReceiptTests.vectors() {
            let answer = AppleTransactionReceiptTests.verify(vector.text)
            guard let receipt = AppleTransactionReceiptTests.receipt(answer) else { continue }
            note(
                "\(receipt.environment)/\(receipt.bundleId ?? "")", receipt.transactionId,
                receipt.originalTransactionId, receipt.webOrderLineItemId, answer.dedupKey)
        }
        let several = keys.filter { $0.value.count > 1 }
        #expect(several.isEmpty, "\(several)")
        // A key never joins two originals, nor two line items of one.
        let joined = purchases.filter { $0.value.count > 1 }
        #expect(joined.isEmpty, "\(joined)")
        try Vectors.report(
            "purchases in \(transactions) records, of which \(several.count) have several keys",
            purchases.count)
    }

    // MARK: Statements

    @Test("a refund has the key of its purchase, and a statement of its own")
    func refunds() throws {
        let (id, later) = (Self.id(.production, 1), Fixture.time(1))
        let bought = try Self.verify(
            Self.transaction(id, type: "Consumable", .production), as: .transaction)
        let refunded = try Self.verify(
            Self.transaction(id, type: "Consumable", .production, signed: later), as: .transaction)
        #expect(bought.dedupKey == refunded.dedupKey && bought.dedupKey != nil)
        let key = "Production/\(Minted.bundleId)/transaction/\(id)/"
        #expect(bought.evidenceKey == key + "\(Fixture.now.milliseconds)")
        #expect(refunded.evidenceKey == key + "\(later.milliseconds)")
        // The date of an old receipt is that of the purchase, also in a refund.
        func old(_ changes: [String: String?]) throws -> Verification {
            var receipt = MintedTransactionReceipt(
                leaf: try MintedRSA.leaf(), key: MintedRSA.leafKey)
            receipt.purchaseInfo = MintedTransactionReceipt.purchaseInfo(changes)
            return try Self.verify(receipt.text, as: .transactionReceipt)
        }
        let (whole, cancelled) = try (
            old([:]), old(["cancellation-date": "2015-06-02 12:00:00 Etc/GMT"])
        )
        #expect(whole.dedupKey == cancelled.dedupKey)
        #expect(whole.evidenceKey != nil && whole.evidenceKey != cancelled.evidenceKey)
    }

    @Test("a key has its parts, however long, and the digits of any number")
    func parts() {
        for number in [0, 1, 9, 10, 99, 1_700_000_000_000, -1, -10, Int64.max, Int64.min] {
            #expect(KeyPrefix("Sandbox", nil).key { $0.append(number) } == "Sandbox/-/\(number)")
        }
        for count in 228...268 {
            let app = String(repeating: "é", count: count / 2) + String(repeating: "a", count: 3)
            #expect(KeyPrefix("Sandbox", app).text == "Sandbox/\(app)/")
            #expect(KeyPrefix("Sandbox", app).key { $0.append("xyz") } == "Sandbox/\(app)/xyz")
        }
    }

    @Test("each kind has an evidence key; renewal information and requests name no purchase")
    func everyKind() {
        let kinds: [(kind: EvidenceKind, namesPurchase: Bool)] = [
            (.transaction, true), (.renewalInfo, false), (.appTransaction, true),
            (.notification, false), (.realtimeRequest, false),
        ]
        var keys: Set<String> = []
        for (kind, namesPurchase) in kinds {
            for signed in [Fixture.now, Fixture.time(-1)] {
                for index in [1, 2] {
                    let answer = Fixture.verify(
                        Fixture.token(Fixture.payload(kind, index: index, signed: signed)),
                        as: kind)
                    Fixture.expect(answer, .valid)
                    #expect((answer.dedupKey != nil) == namesPurchase, "\(kind)")
                    #expect(answer.evidenceKey?.contains("/\(kind.name)/") == true, "\(kind)")
                    keys.insert(answer.evidenceKey ?? "")
                }
            }
        }
        // A notification and a request have an identifier of their own, whenever they are signed.
        #expect(keys.count == 3 * 4 + 2 * 2)
        // A refusal after the signature still names purchase and statement.
        let refused = Fixture.verify(
            Fixture.token(), policy: Policy(bundleId: "com.example.other"))
        Fixture.expect(refused, .wrongBundle)
        #expect(refused.dedupKey != nil && refused.evidenceKey != nil)
        let forged = Fixture.verify(Fixture.token(signature: { $0[0] ^= 1 }))
        #expect(forged.dedupKey == nil && forged.evidenceKey == nil)
    }

    @Test("an answer's statement is that of all its members")
    func answers() {
        func key(_ tokens: [[UInt8]], _ members: String = "") -> String? {
            ServerAnswers.verify(ServerAnswers.history(tokens, members)).evidenceKey
        }
        let (one, two) = (ServerAnswers.token(), ServerAnswers.token(.transaction, 2))
        let later = Fixture.token(Fixture.payload(signed: Fixture.time(1)))
        let whole = key([one, two])
        #expect(whole != nil && whole == key([one, two], #""revision":"r","hasMore":true"#))
        #expect(Set([whole, key([one]), key([two]), key([later, two])]).count == 4)
        #expect(key([]) == nil)
    }
}
