import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: calls")
struct StoreCallTests {
    /// The first transaction of the first customer, and one of another number.
    private static let id = "470001000000100"
    private static let appTransaction = "704289572310000001"

    // MARK: Paths

    private static let paths: [(StoreMethod, String, StoreEndpoint?)] = [
        (.get, "/inApps/v1/subscriptions/1", .statuses),
        (.get, "/sandbox/inApps/v1/subscriptions/1", .statuses),
        (.post, "/inApps/v1/subscriptions/1", nil),
        (.get, "/inApps/v2/subscriptions/1", nil),
        (.get, "/inApps/v1/subscriptions/1/", nil),
        (.get, "/inApps/v1//subscriptions/1", nil),
        (.get, "inApps/v1/subscriptions/1", nil),
        (.get, "/sandbox/sandbox/inApps/v1/subscriptions/1", nil),
        (.get, "/inApps/v1/history/1", .history), (.get, "/inApps/v2/history/1", .history),
        (.get, "/inApps/v3/history/1", nil),
        (.get, "/inApps/v1/transactions/1", .transaction),
        (.get, "/inApps/v2/transactions/1", nil),
        (.get, "/inApps/v1/transactions/appTransactions/1", .appTransaction),
        (.post, "/inApps/v1/transactions/1/finish", .finish),
        (.get, "/inApps/v1/transactions/1/finish", nil),
        (.get, "/inApps/v2/refund/lookup/1", .refunds),
        (.get, "/inApps/v2/refund/other/1", nil), (.get, "/inApps/v1/refund/lookup/1", nil),
        (.get, "/inApps/v1/lookup/M1", .order),
        (.put, "/inApps/v2/transactions/consumption/1", .consumption),
        (.put, "/inApps/v1/transactions/consumption/1", .consumption),
        (.put, "/inApps/v1/transactions/1/appAccountToken", .setAccountToken),
        (.put, "/inApps/v1/subscriptions/extend/1", .extend),
        (.post, "/inApps/v1/subscriptions/extend/mass", .massExtend),
        (.get, "/inApps/v1/subscriptions/extend/mass/p/r", .massExtendStatus),
        (.get, "/inApps/v1/subscriptions/extend/mass/p", nil),
        (.post, "/inApps/v1/notifications/history", .notificationHistory),
        (.post, "/inApps/v1/notifications/test", .testNotification),
        (.get, "/inApps/v1/notifications/test/t", .testNotificationStatus),
        (.get, "/inApps/v1/notifications/history", nil),
        (.get, "/inApps/v1/messaging/image/list", .messaging),
        (.post, "/inApps/v1/messaging/performanceTest", .messaging),
        (.post, "/advancedCommerce/v1/subscription/cancel/1", .advancedCommerce),
        (.post, "/advancedCommerce/v1/subscription/other/1", nil),
        (.post, "/advancedCommerce/v1/transaction/requestRefund/1", .advancedCommerce),
        (.get, "/groups/v1/currentGroups/1", .groups), (.get, "/groups/v1/group/1", .groups),
        (.post, "/groups/v1/group/1", nil),
        (.get, "/groups/v1/transactions/1/seats", .seats),
        (.post, "/groups/v1/transactions/1/seats", .seats),
        (.delete, "/groups/v1/transactions/1/seats/c", .seats),
        (.get, "/groups/v1/transactions/1/seats/c", nil),
        (.post, "/groups/v1/transactions/1/seats/c/associate", .seats),
        (.post, "/groups/v1/transactions/1/seats/c/other", nil),
        (.get, "/groups/v1/transactions/1/other", nil),
        (.put, "/externalPurchase/v1/reports", .externalPurchases),
        (.get, "/externalPurchase/v1/reports/r", .externalPurchases),
        (.get, "/externalPurchase/v1/reports", nil),
        (.post, "/verifyReceipt", .verifyReceipt), (.get, "/verifyReceipt", .verifyReceipt),
        (.post, "/sandbox/verifyReceipt", .verifyReceipt), (.post, "/verifyReceipt/1", nil),
        (.post, "/sandbox/sandbox/verifyReceipt", nil), (.post, "/verifyReceipt/", nil),
        (.get, "/inApps", nil), (.get, "/inApps/v1", nil), (.get, "/sandbox", nil), (.get, "", nil),
    ]

    @Test("a path is one endpoint's or none's")
    func paths() {
        for (method, path, endpoint) in Self.paths {
            #expect(EndpointCall(method, path: path)?.endpoint == endpoint, "\(method) \(path)")
        }
        let found = Set(Self.paths.compactMap(\.2))
        #expect(found == Set(StoreEndpoint.allCases), "each endpoint has a path here")
    }

    // MARK: Refusals

    private static let refusals: [(StoreMethod, String, String, AppleError)] = [
        (.get, "/inApps/v1/subscriptions/1", "", .transactionIdNotFound),
        (.get, "/sandbox/inApps/v1/subscriptions/\(id)", "", .transactionIdNotFound),
        (.get, "/inApps/v1/subscriptions/x", "", .invalidTransactionId),
        (
            .get, "/inApps/v1/subscriptions/\(String(repeating: "1", count: 25))", "",
            .invalidTransactionId
        ),
        (.get, "/inApps/v1/subscriptions/\(id)?status=6", "", .invalidStatus),
        (.get, "/inApps/v1/transactions/\(appTransaction)", "", .appTransactionIdNotSupported),
        (.get, "/inApps/v2/history/\(id)?revision=x", "", .invalidRequestRevision),
        (.get, "/inApps/v2/history/\(id)?sort=UP", "", .invalidSort),
        (.get, "/inApps/v2/history/\(id)?productType=GOLD", "", .invalidProductType),
        (.get, "/inApps/v2/history/\(id)?productId=", "", .invalidProductId),
        (.get, "/inApps/v2/history/\(id)?startDate=x", "", .invalidStartDate),
        (.get, "/inApps/v2/history/\(id)?endDate=x", "", .invalidEndDate),
        (.get, "/inApps/v2/history/\(id)?startDate=5&endDate=5", "", .startDateAfterEndDate),
        (.get, "/inApps/v2/history/\(id)?revoked=1", "", .invalidRevoked),
        (
            .get, "/inApps/v2/history/\(id)?inAppOwnershipType=MINE", "",
            .invalidInAppOwnershipType
        ),
        (.put, "/inApps/v2/transactions/consumption/\(id)", "{}", .invalidCustomerConsented),
        (.put, "/inApps/v2/transactions/consumption/\(id)", "", .generalBadRequest),
        (
            .put, "/inApps/v2/transactions/consumption/\(id)",
            #"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#,
            .invalidSampleContentProvided
        ),
        (
            .put, "/inApps/v2/transactions/consumption/\(id)",
            #"{"customerConsented":true,"sampleContentProvided":false}"#, .invalidDeliveryStatus
        ),
        (
            .put, "/inApps/v2/transactions/consumption/\(id)",
            #"{"customerConsented":true,"sampleContentProvided":false,"#
                + #""deliveryStatus":"DELIVERED","consumptionPercentage":100001}"#,
            .invalidConsumptionStatus
        ),
        (
            .put, "/inApps/v1/transactions/consumption/\(id)",
            #"{"customerConsented":true,"consumptionStatus":4}"#, .invalidConsumptionStatus
        ),
        (
            .put, "/inApps/v1/transactions/\(id)/appAccountToken", #"{"appAccountToken":"x"}"#,
            .appAccountTokenNotUUID
        ),
        (.put, "/inApps/v1/transactions/\(id)/appAccountToken", "{}", .invalidAppAccountToken),
        (.put, "/inApps/v1/subscriptions/extend/\(id)", "{}", .invalidExtendByDays),
        (
            .put, "/inApps/v1/subscriptions/extend/\(id)", #"{"extendByDays":91}"#,
            .invalidExtendByDays
        ),
        (
            .put, "/inApps/v1/subscriptions/extend/\(id)",
            #"{"extendByDays":90,"extendReasonCode":4}"#, .invalidExtendReasonCode
        ),
        (
            .put, "/inApps/v1/subscriptions/extend/\(id)",
            #"{"extendByDays":90,"extendReasonCode":3,"requestIdentifier":""}"#,
            .invalidRequestIdentifier
        ),
        (.put, "/inApps/v1/subscriptions/extend/1", "{}", .originalTransactionIdNotFound),
        (.put, "/inApps/v1/subscriptions/extend/x", "{}", .invalidOriginalTransactionId),
        (.get, "/inApps/v1/subscriptions/extend/mass/p/r", "", .statusRequestNotFound),
        (.post, "/inApps/v1/notifications/history", "{}", .invalidStartDate),
        (
            .post, "/inApps/v1/notifications/history", #"{"startDate":1735689600000}"#,
            .invalidEndDate
        ),
        (
            .post, "/inApps/v1/notifications/history", #"{"startDate":2,"endDate":1}"#,
            .startDateAfterEndDate
        ),
        (
            .post, "/inApps/v1/notifications/history", #"{"startDate":1,"endDate":2}"#,
            .startDateTooFarInPast
        ),
        (
            .post, "/inApps/v1/notifications/history?paginationToken=x",
            #"{"startDate":1735689600000,"endDate":1735689600001}"#, .invalidPaginationToken
        ),
        (
            .post, "/inApps/v1/notifications/history",
            #"{"startDate":1735689600000,"endDate":1735689600001,"notificationType":"REFUND","#
                + #""transactionId":"1"}"#, .multipleFiltersSupplied
        ),
        (.get, "/inApps/v1/notifications/test/x", "", .invalidTestNotificationToken),
        (
            .get, "/inApps/v1/notifications/test/00000000-0000-0000-0000-000000000000_1", "",
            .testNotificationNotFound
        ),
        (
            .put, "/inApps/v1/messaging/image/7e3fb204-2f45-4dfd-8b2b-1c3cf5ba2f41", "GIF",
            .invalidImage
        ),
        (
            .delete, "/inApps/v1/messaging/image/7e3fb204-2f45-4dfd-8b2b-1c3cf5ba2f41", "",
            .imageNotFound
        ),
        (
            .put, "/inApps/v1/messaging/default/p/en-US", #"{"messageIdentifier":"x"}"#,
            .messageNotFound
        ),
        (
            .put, "/inApps/v1/messaging/realtime/url", #"{"realtimeURL":"ftp://a"}"#,
            .invalidRealtimeURL
        ),
        (
            .put, "/inApps/v1/messaging/realtime/url", #"{"realtimeURL":"https://a"}"#,
            .noPassingTest
        ),
        (
            .post, "/inApps/v1/messaging/performanceTest", #"{"originalTransactionId":"1"}"#,
            .invalidPerformanceTest
        ),
    ]

    @Test("a wrong request is refused with Apple's code, status and message")
    func refusals() throws {
        var store = try TestStore("subscribe")
        for (method, target, body, error) in Self.refusals {
            let answer = store.send(method, target, body)
            #expect(answer.code == error.rawValue, "\(method) \(target) \(body)")
            #expect(answer.status == error.rawValue / 10_000)
            #expect(try answer.json["errorMessage"]?.string == error.message)
        }
    }

    @Test("each error has a message, and a code of its status")
    func errors() {
        for error in AppleError.allCases {
            #expect(!error.message.isEmpty && error.message.utf8.count < 200)
            #expect((400...500).contains(error.status))
        }
    }

    @Test("the token of another app finds an empty list")
    func otherBundle() throws {
        var store = try TestStore("subscribe")
        store.bundleId = "com.example.other"
        let statuses = store.get("/inApps/v1/subscriptions/\(Self.id)")
        #expect(statuses.status == 200)
        #expect(try statuses.json["data"]?.elements?.map(\.raw) == [])
        let history = store.get("/inApps/v2/history/\(Self.id)")
        #expect(history.status == 200)
        #expect(try history.tokens == [])
        #expect(store.get("/inApps/v1/transactions/\(Self.id)").code == 4_040_010)
    }

    // MARK: Answers

    @Test("customers have identifiers of their own")
    func identifiers() throws {
        var store = try TestStore("subscribe", "subscribe")
        try store.add("subscribe", .sandbox)
        var seen: Set<String> = []
        for (number, id, path) in [
            (1, "470001000000100", ""), (2, "470002000000100", ""),
            (3, "2000000000300100", "/sandbox"),
        ] {
            let answer = store.get("\(path)/inApps/v1/transactions/\(id)")
            let members = try payload(answer.json["signedTransactionInfo"]?.string ?? "")
            #expect(members["transactionId"]?.string == id)
            #expect(members["originalTransactionId"]?.string == id)
            #expect(members["environment"]?.string == (path.isEmpty ? "Production" : "Sandbox"))
            for name in ["appAccountToken", "appTransactionId"] {
                let isNew = seen.insert(members[name]?.string ?? "").inserted
                #expect(isNew, "\(name) of customer \(number)")
            }
            let app = "70428957231000000\(number)"
            #expect(store.get("\(path)/inApps/v1/subscriptions/\(app)").status == 200)
        }
    }

    @Test("an extension moves the end, is announced, and is possible twice a year")
    func extend() throws {
        var store = try TestStore("subscribe")
        let path = "/inApps/v1/subscriptions/extend/\(Self.id)"
        let body = #"{"extendByDays":7,"extendReasonCode":1,"requestIdentifier":"a"}"#
        var end = TestStore.start.milliseconds + 30 * 86_400_000
        for _ in 0..<2 {
            end += 7 * 86_400_000
            let answer = store.send(.put, path, body)
            #expect(try answer.json["effectiveDate"]?.int64 == end)
            let sent = try notification(try #require(store.posted.last))
            #expect(sent["notificationType"]?.string == "RENEWAL_EXTENDED")
            let token = sent["data"]?["signedTransactionInfo"]?.string ?? ""
            #expect(try payload(token)["expiresDate"]?.int64 == end)
        }
        #expect(store.send(.put, path, body).code == AppleError.maximumExtensions.rawValue)
        try store.advance("60d")
        #expect(store.send(.put, path, body).code == AppleError.extensionIneligible.rawValue)
    }

    @Test("version 1 of the history forgets finished consumables")
    func finished() throws {
        var store = try TestStore("consumable")
        let id = try #require(store.store.customers[0].life.transactions.first?.transactionId)
        let before = try store.get("/inApps/v1/history/\(id)").tokens.count
        #expect(store.send(.post, "/inApps/v1/transactions/\(id)/finish").status == 200)
        #expect(try store.get("/inApps/v1/history/\(id)").tokens.count == before - 1)
        #expect(try store.get("/inApps/v2/history/\(id)").tokens.count == before)
    }

    @Test("Advanced Commerce answers with the changed state")
    func advancedCommerce() throws {
        var store = try TestStore("subscribe")
        var answer = store.send(.post, "/advancedCommerce/v1/subscription/cancel/\(Self.id)")
        var renewal = try payload(answer.json["signedRenewalInfo"]?.string ?? "")
        #expect(renewal["autoRenewStatus"]?.int64 == 0)
        answer = store.send(.post, "/advancedCommerce/v1/subscription/revoke/\(Self.id)")
        let transaction = try payload(answer.json["signedTransactionInfo"]?.string ?? "")
        #expect(transaction["revocationDate"]?.int64 == store.store.now.milliseconds)
        renewal = try payload(answer.json["signedRenewalInfo"]?.string ?? "")
        #expect(renewal["autoRenewStatus"]?.int64 == 0)
        let status = store.get("/inApps/v1/subscriptions/\(Self.id)?status=5")
        #expect(try status.json["data"]?.elements?.count { _ in true } == 1)
    }
}
