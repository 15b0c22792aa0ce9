import Assay
import AssayBytes
import AssayModels
import Testing

@testable import AssayStore

@Suite("Calls of the App Store Server API")
struct StoreCallTests {
    private static let json = Array("{}".utf8)

    /// Each call with its request: what Apple documents.
    private static let table: [(call: @Sendable () throws -> StoreCall, line: String)] = [
        ({ try .statuses(of: "1") }, "GET /inApps/v1/subscriptions/1"),
        (
            { try .statuses(of: "1", in: [.active, .gracePeriod]) },
            "GET /inApps/v1/subscriptions/1?status=1&status=4"
        ),
        ({ try .history(of: "1") }, "GET /inApps/v2/history/1"),
        (
            { try .transaction("20-1_a.b~c") },
            "GET /inApps/v1/transactions/20-1_a.b~c"
        ),
        (
            { try .appTransaction(of: "1") },
            "GET /inApps/v1/transactions/appTransactions/1"
        ),
        ({ try .finish("1") }, "POST /inApps/v1/transactions/1/finish"),
        ({ try .refunds(of: "1") }, "GET /inApps/v2/refund/lookup/1"),
        ({ try .order("MABC1") }, "GET /inApps/v1/lookup/MABC1"),
        (
            {
                try .consumption(
                    of: "1",
                    ConsumptionReport(
                        customerConsented: true, delivery: .delivered, sampleProvided: false))
            }, "PUT /inApps/v2/transactions/consumption/1"
        ),
        (
            { try .consumptionV1(of: "1", json: json) },
            "PUT /inApps/v1/transactions/consumption/1"
        ),
        (
            {
                try .setAccountToken("7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10", of: "1")
            }, "PUT /inApps/v1/transactions/1/appAccountToken"
        ),
        (
            {
                try .extend("1", byDays: 1, reason: .outage, request: "r")
            }, "PUT /inApps/v1/subscriptions/extend/1"
        ),
        (
            {
                try .massExtend(product: "p", byDays: 90, reason: .other, request: "r")
            }, "POST /inApps/v1/subscriptions/extend/mass"
        ),
        (
            { try .massExtensionStatus(product: "p.q", request: "r") },
            "GET /inApps/v1/subscriptions/extend/mass/p.q/r"
        ),
        (
            {
                try .notifications(
                    NotificationQuery(
                        from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2)))
            }, "POST /inApps/v1/notifications/history"
        ),
        ({ .testNotification() }, "POST /inApps/v1/notifications/test"),
        (
            { try .testNotificationStatus("ce3af791-365e_1656") },
            "GET /inApps/v1/notifications/test/ce3af791-365e_1656"
        ),
        (
            { try .uploadImage("i", png: [1], size: "FULL_SIZE") },
            "PUT /inApps/v1/messaging/image/i?imageSize=FULL_SIZE"
        ),
        (
            { try .deleteImage("i") },
            "DELETE /inApps/v1/messaging/image/i"
        ),
        ({ .images() }, "GET /inApps/v1/messaging/image/list"),
        (
            { try .uploadMessage("m", json: json) },
            "PUT /inApps/v1/messaging/message/m"
        ),
        (
            { try .deleteMessage("m") },
            "DELETE /inApps/v1/messaging/message/m"
        ),
        ({ .messages() }, "GET /inApps/v1/messaging/message/list"),
        (
            {
                try .setDefaultMessage(product: "p", locale: "en-US", json: json)
            }, "PUT /inApps/v1/messaging/default/p/en-US"
        ),
        (
            { try .defaultMessage(product: "p", locale: "en-US") },
            "GET /inApps/v1/messaging/default/p/en-US"
        ),
        (
            { try .deleteDefaultMessage(product: "p", locale: "en-US") },
            "DELETE /inApps/v1/messaging/default/p/en-US"
        ),
        (
            { try .setRealtimeURL(json: json) },
            "PUT /inApps/v1/messaging/realtime/url"
        ),
        ({ .realtimeURL() }, "GET /inApps/v1/messaging/realtime/url"),
        (
            { .deleteRealtimeURL() },
            "DELETE /inApps/v1/messaging/realtime/url"
        ),
        (
            { try .performanceTest(json: json) },
            "POST /inApps/v1/messaging/performanceTest"
        ),
        (
            { try .performanceTestResult("r") },
            "GET /inApps/v1/messaging/performanceTest/result/r"
        ),
        (
            { try .advancedCommerce(.changeMetadata, "1", json: json) },
            "POST /advancedCommerce/v1/subscription/changeMetadata/1"
        ),
        (
            { try .advancedCommerceRefund("1", json: json) },
            "POST /advancedCommerce/v1/transaction/requestRefund/1"
        ),
        ({ try .currentGroups(of: "1") }, "GET /groups/v1/currentGroups/1"),
        ({ try .groupMembers(of: "9") }, "GET /groups/v1/group/9"),
        (
            { try .groupMembers(of: "9", limit: 5, after: "t 1") },
            "GET /groups/v1/group/9?limit=5&paginationToken=t%201"
        ),
        ({ try .seats(of: "1") }, "GET /groups/v1/transactions/1/seats"),
        ({ try .claimSeat(of: "1", request: uuid) }, "POST /groups/v1/transactions/1/seats"),
        ({ try .unclaimSeat("c", of: "1") }, "DELETE /groups/v1/transactions/1/seats/c"),
        (
            { try .associateSeat("c", of: "1", appTransactionId: "7") },
            "POST /groups/v1/transactions/1/seats/c/associate"
        ),
        (
            { try .sendExternalPurchaseReport(json: Array(report.utf8)) },
            "PUT /externalPurchase/v1/reports"
        ),
        ({ try .externalPurchaseReport(uuid) }, "GET /externalPurchase/v1/reports/\(uuid)"),
    ]

    @Test("each call has Apple's method and path, and a name of its own")
    func paths() throws {
        var names: Set<String> = []
        for (make, line) in Self.table {
            let call = try make()
            #expect(call.method + " " + call.target() == line)
            names.insert(call.name)
        }
        // Statuses and members are there twice, and Advanced Commerce shares its name.
        #expect(names.count == Self.table.count - 3)
    }

    @Test("a query is the same on each page, and its values are escaped")
    func query() throws {
        var query = HistoryQuery()
        query.startDate = Timestamp(milliseconds: 5)
        query.endDate = Timestamp(milliseconds: 6)
        query.productIds = ["a b", "c&d=e"]
        query.productTypes = ["CONSUMABLE"]
        query.isDescending = true
        query.subscriptionGroups = ["21"]
        query.ownership = "PURCHASED"
        query.revoked = false
        let call = try StoreCall.history(of: "1", query)
        let whole =
            "/inApps/v2/history/1?startDate=5&endDate=6&productId=a%20b&productId=c%26d%3De"
            + "&productType=CONSUMABLE&sort=DESCENDING&subscriptionGroupIdentifier=21"
            + "&inAppOwnershipType=PURCHASED&revoked=false"
        #expect(call.target() == whole)
        #expect(call.target(page: "r/ü+") == whole + "&revision=r%2F%C3%BC%2B")
        let notifications = try StoreCall.notifications(
            NotificationQuery(from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2)))
        #expect(
            notifications.target(page: "t")
                == "/inApps/v1/notifications/history?paginationToken=t")
    }

    @Test(
        "an identifier that could change the path is refused",
        arguments: [
            "", ".", "..", "1/2", "1?a=b", "1#", "1%2F", "1 ", "ü", "1\n", "1\\",
            String(repeating: "1", count: 257),
        ])
    func identifiers(text: String) {
        #expect(throws: StoreError.self) { try StoreCall.transaction(text) }
        #expect(throws: StoreError.self) {
            try StoreCall.massExtensionStatus(product: "p", request: text)
        }
        #expect(throws: StoreError.self) { try StoreCall.setAccountToken(Self.uuid, of: text) }
    }

    private static let uuid = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"
    private static let report =
        #"{"requestIdentifier":"\#(uuid)","externalPurchaseId":"e","status":"NO_LINE_ITEM"}"#

    @Test("groups ask the sandbox, which alone has them; a report goes where its token is of")
    func environments() throws {
        func asked(_ call: StoreCall) -> [StoreEnvironment] {
            StoreEnvironmentChoice.automatic.environments(for: call)
        }
        #expect(try asked(.currentGroups(of: "1")) == [.sandbox])
        #expect(try asked(.unclaimSeat("c", of: "1")) == [.sandbox])
        let production = StoreEnvironmentChoice.production
        #expect(try production.environments(for: .seats(of: "1")) == [.production])
        let sandbox = Self.report.replacing(#""e""#, with: #""SANDBOX_e""#)
        #expect(
            try asked(.sendExternalPurchaseReport(json: Array(Self.report.utf8))) == [.production])
        #expect(try asked(.sendExternalPurchaseReport(json: Array(sandbox.utf8))) == [.sandbox])
        #expect(try asked(.externalPurchaseReport("r")) == [.production])
    }

    @Test("a report that Apple would refuse is refused, and the member named")
    func reports() {
        for (old, new, words) in [
            (Self.uuid, "x", "requestIdentifier is not a UUID"),
            (#""externalPurchaseId":"e","#, "", "externalPurchaseId is missing"),
            (#""e""#, #""""#, "externalPurchaseId is empty"),
            ("NO_LINE_ITEM", "LINE_ITEM", "lineItems is missing"),
            (#"ITEM"}"#, #"ITEM","lineItems":[{}]}"#, "lineItems belongs to the status LINE_ITEM"),
            (#""NO_LINE_ITEM""#, #""LINE_ITEM","lineItems":[]"#, "lineItems is empty"),
        ] {
            let json = Self.report.replacing(old, with: new)
            let error = #expect(throws: StoreError.self) {
                try StoreCall.sendExternalPurchaseReport(json: Array(json.utf8))
            }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        }
    }

    @Test("a token of an external purchase is decoded, whatever its padding; others are refused")
    func externalPurchaseToken() throws {
        let json =
            #"{"appAppleId":9,"bundleId":"com.example.game","tokenCreationDate":5,"#
            + #""externalPurchaseId":"SANDBOX_1","tokenType":"SERVICES","tokenExpirationDate":6}"#
        func encoded(_ json: String) -> String {
            String(decoding: Base64URL.encode(Array(json.utf8).span), as: UTF8.self)
        }
        for text in [encoded(json), encoded(json) + "=="] {
            let token = try DecodedExternalPurchaseToken(text)
            #expect(token.externalPurchaseId == "SANDBOX_1" && token.environment == .sandbox)
            #expect(token.appAppleId == 9 && token.bundleId == "com.example.game")
            #expect(token.tokenCreationDate.milliseconds == 5 && token.tokenType == "SERVICES")
            #expect(token.tokenExpirationDate?.milliseconds == 6)
        }
        for text in ["", "!", encoded("[]"), encoded("{}"), encoded(#"{"externalPurchaseId":5}"#)] {
            #expect(throws: StoreError.self) { try DecodedExternalPurchaseToken(text) }
        }
    }

    @Test(
        "an empty value, which Apple takes for none, is refused before",
        arguments: ["", " ", "\t "])
    func empty(text: String) throws {
        let span = Timestamp(milliseconds: 1)
        let calls: [(String, () throws -> StoreCall)] = [
            ("product id", { try Self.history { $0.productIds = ["p", text] } }),
            ("product type", { try Self.history { $0.productTypes = [text] } }),
            ("subscription group", { try Self.history { $0.subscriptionGroups = [text] } }),
            ("ownership type", { try Self.history { $0.ownership = text } }),
            (
                "transaction identifier",
                {
                    var query = NotificationQuery(from: span, to: span)
                    query.transactionId = text
                    return try .notifications(query)
                }
            ),
            (
                "notification type",
                {
                    var query = NotificationQuery(from: span, to: span)
                    query.type = text
                    return try .notifications(query)
                }
            ),
            (
                "product id",
                { try .massExtend(product: text, byDays: 1, reason: .other, request: "r") }
            ),
            (
                "storefront",
                {
                    try .massExtend(
                        product: "p", byDays: 1, reason: .other, request: "r", storefronts: [text])
                }
            ),
        ]
        for (name, make) in calls {
            #expect(
                throws: StoreError.invalidArgument(
                    "the \(name) is empty: leave it out, or name one")
            ) { try make() }
        }
        #expect(try Self.history { $0.productIds = ["p"] }.target().hasSuffix("?productId=p"))
    }

    private static func history(_ change: (inout HistoryQuery) -> Void) throws -> StoreCall {
        var query = HistoryQuery()
        change(&query)
        return try .history(of: "1", query)
    }

    @Test("values that Apple refuses are refused before")
    func values() throws {
        for days in [0, 91, -1] {
            #expect(throws: StoreError.self) {
                try StoreCall.extend("1", byDays: days, reason: .other, request: "r")
            }
        }
        for request in ["", String(repeating: "r", count: 129)] {
            #expect(throws: StoreError.self) {
                try StoreCall.extend("1", byDays: 1, reason: .other, request: request)
            }
        }
        for token in ["", "7e3fb204", Self.uuid + "0", Self.uuid.replacing("-", with: "+")] {
            #expect(throws: StoreError.self) { try StoreCall.setAccountToken(token, of: "1") }
        }
        for json in ["", "[]", "{", "1"] {
            #expect(throws: StoreError.self) {
                try StoreCall.setRealtimeURL(json: Array(json.utf8))
            }
        }
        for (percentage, isFine) in [(0, true), (100_000, true), (-1, false), (100_001, false)] {
            var report = ConsumptionReport(
                customerConsented: true, delivery: .delivered, sampleProvided: true)
            report.consumptionPercentage = percentage
            #expect(((try? StoreCall.consumption(of: "1", report)) != nil) == isFine)
        }
    }

    @Test("bodies are Apple's")
    func bodies() throws {
        func text(_ call: StoreCall) -> String { String(decoding: call.body ?? [], as: UTF8.self) }
        let extend = try StoreCall.extend("1", byDays: 7, reason: .outage, request: "r")
        #expect(
            text(extend) == #"{"extendByDays":7,"extendReasonCode":3,"requestIdentifier":"r"}"#)
        let mass = try StoreCall.massExtend(
            product: "p", byDays: 7, reason: .satisfaction, request: "r", storefronts: ["USA"])
        #expect(
            text(mass) == #"{"extendByDays":7,"extendReasonCode":1,"requestIdentifier":"r","#
                + #""productId":"p","storefrontCountryCodes":["USA"]}"#)
        var report = ConsumptionReport(
            customerConsented: true, delivery: .serverOutage, sampleProvided: false)
        report.consumptionPercentage = 25_000
        report.refundPreference = .grantProrated
        #expect(
            text(try .consumption(of: "1", report))
                == #"{"customerConsented":true,"sampleContentProvided":false,"#
                + #""deliveryStatus":"UNDELIVERED_SERVER_OUTAGE","consumptionPercentage":25000,"#
                + #""refundPreference":"GRANT_PRORATED"}"#)
        #expect(
            text(try .setAccountToken(Self.uuid, of: "1"))
                == #"{"appAccountToken":"\#(Self.uuid)"}"#)
        var query = NotificationQuery(
            from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2))
        #expect(text(try .notifications(query)) == #"{"startDate":1,"endDate":2}"#)
        query.type = "DID_RENEW"
        query.subtype = "BILLING_RECOVERY"
        query.transactionId = "7"
        query.onlyFailures = true
        #expect(
            text(try .notifications(query))
                == #"{"startDate":1,"endDate":2,"notificationType":"DID_RENEW","#
                + #""notificationSubtype":"BILLING_RECOVERY","transactionId":"7","#
                + #""onlyFailures":true}"#)
    }

    @Test("what can have a second effect is not repeated")
    func repeatable() throws {
        for (make, line) in Self.table {
            let call = try make()
            let changes = line.contains("/extend") && call.method != "GET"
            let isOnce = changes || line.contains("advancedCommerce")
            #expect(call.isRepeatable == !isOnce, "\(line)")
        }
    }
}
