import AssayMint
import AssayModels
import Testing

@testable import AssayStore

/// Answers as Apple documents them: names, order and unsigned members are the documentation's. The
/// tokens are minted.
@Suite("Documented answers of the App Store")
struct DocumentedAnswersTests {
    private static let fixture = StoreFixture.shared

    private static func token(_ kind: EvidenceKind, _ index: Int = 1) throws -> String {
        String(
            decoding: try fixture.minter.mint(
                kind, index: index, bundleId: StoreFixture.bundleId, appAppleId: 1_234_567_890,
                environment: .production,
                signedDate: Timestamp(milliseconds: StoreFixture.now)), as: UTF8.self)
    }

    /// Makes a call that gets this answer.
    private static func answer(
        _ call: StoreCall, _ body: String, status: Int = 200
    ) async throws -> StoreAnswer {
        let transport = ScriptedTransport { _, _ in .status(status, body) }
        return try await fixture.client(nil, FakeClock(), transport).answer(to: call)
    }

    private static let app =
        #""bundleId":"com.example.game","appAppleId":1234567890,"environment":"Production""#

    @Test("statuses (StatusResponse)")
    func statuses() async throws {
        let (transaction, renewal) = (try Self.token(.transaction), try Self.token(.renewalInfo))
        let found = try await Self.answer(
            .statuses(of: "1"),
            """
            {"environment":"Production","bundleId":"com.example.game","appAppleId":1234567890,
            "data":[{"subscriptionGroupIdentifier":"21353425","lastTransactions":[{
            "originalTransactionId":"470001400000002","status":1,
            "signedRenewalInfo":"\(renewal)","signedTransactionInfo":"\(transaction)"}]}]}
            """)
        let signed = try #require(found.signed)
        #expect(signed.transactions.count == 1 && signed.renewalInfos.count == 1)
        #expect(signed.unsigned.subscriptions.first?.status == .active && signed.warnings.isEmpty)
    }

    @Test("no subscriptions, as for another bundle id: valid, and a warning")
    func noStatuses() async throws {
        let found = try await Self.answer(.statuses(of: "1"), #"{\#(Self.app),"data":[]}"#)
        #expect(found.signed?.warnings.map(\.code) == [.noEvidence])
    }

    @Test("history (HistoryResponse) and refunds (RefundHistoryResponse)")
    func lists() async throws {
        let tokens = try [1, 2].map { try Self.token(.transaction, $0) }
        let list = #""signedTransactions":["\#(tokens[0])","\#(tokens[1])"]"#
        let history = try await Self.answer(
            .history(of: "1"),
            #"{"revision":"1700000000000_2","bundleId":"com.example.game","appAppleId":1234567890,"#
                + #""environment":"Production","hasMore":true,\#(list)}"#)
        #expect(
            history.page == PageWalk.Page(hasMore: true, token: "1700000000000_2", itemCount: 2))
        let refunds = try await Self.answer(
            .refunds(of: "1"), #"{"hasMore":false,"revision":"r",\#(list)}"#)
        #expect(refunds.page == PageWalk.Page(hasMore: false, token: "r", itemCount: 2))
    }

    @Test("one transaction, an app transaction, and those of Advanced Commerce")
    func single() async throws {
        let transaction = try Self.token(.transaction)
        let found = try await Self.answer(
            .transaction("1"), #"{"signedTransactionInfo":"\#(transaction)"}"#)
        #expect(found.signed?.transactions.count == 1)
        let app = try Self.token(.appTransaction)
        let purchase = try await Self.answer(
            .appTransaction(of: "1"), #"{"signedAppTransactionInfo":"\#(app)"}"#)
        #expect(purchase.signed?.appTransaction != nil)
        let renewal = try Self.token(.renewalInfo)
        let cancelled = try await Self.answer(
            .advancedCommerce(.cancel, "1", json: Array("{}".utf8)),
            #"{"signedRenewalInfo":"\#(renewal)","signedTransactionInfo":"\#(transaction)"}"#)
        #expect(cancelled.signed?.renewalInfos.count == 1)
    }

    @Test("an order (OrderLookupResponse), valid and invalid")
    func order() async throws {
        let transaction = try Self.token(.transaction)
        let found = try await Self.answer(
            .order("MVWXYZ1234"), #"{"status":0,"signedTransactions":["\#(transaction)"]}"#)
        #expect(found.signed?.transactions.count == 1)
        let invalid = try await Self.answer(.order("MVWXYZ1234"), #"{"status":1}"#)
        #expect(
            invalid.signed?.unsigned.status == 1 && invalid.signed?.transactions.isEmpty == true)
        #expect(invalid.signed?.warnings.map(\.code) == [.noEvidence])
    }

    @Test("notifications (NotificationHistoryResponse) with their attempts")
    func notifications() async throws {
        let notification = try Self.token(.notification)
        let query = NotificationQuery(
            from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2))
        let found = try await Self.answer(
            try .notifications(query),
            """
            {"paginationToken":"token_1","hasMore":true,"notificationHistory":[{"sendAttempts":[
            {"attemptDate":1698148900000,"sendAttemptResult":"NO_RESPONSE"},
            {"attemptDate":1698148950000,"sendAttemptResult":"SUCCESS"}],
            "signedPayload":"\(notification)"}]}
            """)
        #expect(found.page == PageWalk.Page(hasMore: true, token: "token_1", itemCount: 1))
        #expect(found.signed?.notifications.first?.transaction != nil)
    }

    @Test("a test notification and its status")
    func testNotification() async throws {
        let sent = try await Self.answer(
            .testNotification(), #"{"testNotificationToken":"ce3af791-365e_1656457206310"}"#)
        let token = try #require(sent.unsignedText("testNotificationToken"))
        #expect(sent.verification == nil && sent.unsignedText("other") == nil)
        let notification = try Self.token(.notification)
        let status = try await Self.answer(
            .testNotificationStatus(token),
            """
            {"signedPayload":"\(notification)","sendAttempts":[
            {"attemptDate":1698148900000,"sendAttemptResult":"TIMED_OUT"}]}
            """)
        #expect(status.signed?.notifications.count == 1)
    }

    @Test("answers without a signed member are kept as they came")
    func unsigned() async throws {
        let calls: [(StoreCall, Int, String)] = [
            (
                try .extend("1", byDays: 1, reason: .other, request: "r"), 200,
                #"{"originalTransactionId":"1","webOrderLineItemId":"2","success":true,"#
                    + #""effectiveDate":1698148900000}"#
            ),
            (
                try .massExtend(product: "p", byDays: 1, reason: .other, request: "r"), 200,
                #"{"requestIdentifier":"758883e8-151b-47b7-abd0-60c4d804c2f5"}"#
            ),
            (
                try .massExtensionStatus(product: "p", request: "r"), 200,
                #"{"requestIdentifier":"r","complete":true,"completeDate":1698148900000,"#
                    + #""succeededCount":30,"failedCount":2}"#
            ),
            (
                .images(), 200,
                #"{"imageIdentifiers":[{"imageIdentifier":"i","imageState":"PENDING"}]}"#
            ),
            (try .finish("1"), 200, ""),
            (try .consumptionV1(of: "1", json: [0x7B, 0x7D]), 202, ""),
        ]
        for (call, status, body) in calls {
            let found = try await Self.answer(call, body, status: status)
            #expect(found.body == Array(body.utf8) && found.verification == nil, "\(call.name)")
        }
    }
}
