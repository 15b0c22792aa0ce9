import Assay
import AssayBytes
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: time")
struct StoreTimeTests {
    private static let hour: Int64 = 3_600_000

    @Test("a notification is sent again after 1, 12, 24, 48 and 72 hours, and then given up")
    func retries() throws {
        var test = try TestStore()
        test.backend = .unsuccessfulStatus
        try test.add("subscribe")
        try test.advance("29d")
        let entry = try #require(test.store.notifications.entries.first)
        let hours = entry.attempts.map {
            ($0.at.milliseconds - TestStore.start.milliseconds) / Self.hour
        }
        #expect(hours == [0, 1, 13, 37, 85, 157])
        #expect(entry.next == nil && !entry.isDelivered)
        #expect(test.posted.count == 6 && Set(test.posted).count == 1, "the same body each time")
    }

    @Test("the sandbox sends once")
    func sandbox() throws {
        var test = try TestStore()
        test.backend = .timedOut
        try test.add("subscribe", .sandbox)
        try test.advance("29d")
        #expect(test.store.notifications.entries.first?.attempts.count == 1)
    }

    @Test("a delivered notification is not sent again")
    func delivery() throws {
        var test = try TestStore()
        test.backend = .noResponse
        try test.add("subscribe")
        test.backend = .success
        try test.advance("29d")
        let results = test.store.notifications.entries.first?.attempts.map(\.result)
        #expect(results == [.noResponse, .success])
    }

    @Test("steps and notifications of all customers happen in the order of time")
    func order() throws {
        var test = try TestStore("grace-period", "customers-life", "billing-retry")
        try test.advance("60d")
        let times = test.store.stepsTaken.map(\.at)
        #expect(times == times.sorted() && times.count > 8)
        let dates = try test.posted.map { try notification($0)["signedDate"]?.int64 ?? 0 }
        #expect(dates == dates.sorted() && dates.count > 5)
        #expect(test.store.now == TestStore.start.advanced(by: 60 * 24 * Self.hour))
    }

    @Test("without a URL nothing is sent, and the history has all notifications")
    func unsent() throws {
        var test = try TestStore("grace-period", notifies: false)
        try test.advance("40d")
        #expect(test.posted == [])
        let start = TestStore.start.milliseconds
        let body = "{\"startDate\":\(start),\"endDate\":\(start + 50 * 24 * Self.hour)}"
        let answer = test.send(.post, "/inApps/v1/notifications/history", body)
        let list = try answer.json["notificationHistory"]?.elements.map(Array.init) ?? []
        #expect(list.count == 2)
        #expect(list.allSatisfy { $0["sendAttempts"]?.raw == Array("[]".utf8) })
        let test404 = test.send(.post, "/inApps/v1/notifications/test")
        #expect(test404.code == AppleError.notificationURLNotFound.rawValue)
    }

    @Test("onlyFailures and a transaction id select notifications")
    func filters() throws {
        var test = try TestStore("grace-period", "grace-period")
        test.backend = .timedOut
        try test.advance("30d")
        let start = TestStore.start.milliseconds
        for (filter, count) in [
            ("", 4), (",\"onlyFailures\":true", 2), (",\"transactionId\":\"470002000000100\"", 2),
            (",\"notificationType\":\"SUBSCRIBED\"", 2),
            (",\"notificationType\":\"SUBSCRIBED\",\"notificationSubtype\":\"RESUBSCRIBE\"", 0),
        ] {
            let body =
                "{\"startDate\":\(start),\"endDate\":\(start + 50 * 24 * Self.hour)\(filter)}"
            let answer = test.send(.post, "/inApps/v1/notifications/history", body)
            let list = try answer.json["notificationHistory"]?.elements.map(Array.init) ?? []
            #expect(list.count == count, "\(filter)")
        }
    }

    @Test("a move of time that can't be made is refused with the reason")
    func refusals() throws {
        var test = try TestStore("subscribe")
        for body in [
            "", "[]", "{}", "{\"duration\":30}", "{\"duration\":\"\"}", "{\"duration\":\"-1d\"}",
            "{\"duration\":\"1d\",\"to\":\"next\"}", "{\"to\":1}", "{\"to\":\"then\"}",
            "{\"days\":30}", "{\"duration\":\"9000d\"}",
        ] {
            let answer = test.send(.post, "/advance", body)
            #expect(answer.status == 400, "\(body)")
            #expect(try answer.json["error"]?.string?.isEmpty == false)
        }
        #expect(test.store.now == TestStore.start)
        #expect(test.send(.post, "/advance", "{\"to\":\"next\"}").status == 200)
        #expect(test.store.now > TestStore.start)
        let form = test.send(.post, "/advance", "duration=1h", form: true)
        #expect(form.status == 303 && form.fields["Location"] == "/")
    }

    @Test("a customer is a scenario by name or a file's object; others are refused")
    func customers() throws {
        var test = try TestStore()
        let own = """
            {"name":"own","summary":"One.","steps":[{"at":"0d","title":"buys","transactions":
            {"5":{"productId":"world.2"}},"evidence":[{"notification":"ONE_TIME_CHARGE","of":"5"}],
            "expect":{}}]}
            """
        let added = test.send(.post, "/customers", "{\"scenario\":\(own)}")
        #expect(added.status == 201)
        #expect(try added.json["customer"]?.int64 == 1)
        #expect(try Array(#require(added.json["transactions"]?.elements)).count == 1)
        #expect(test.posted.count == 1)
        for body in [
            "{}", "{\"scenario\":\"no-such\"}", "{\"scenario\":{}}", "{\"scenario\":5}",
            "{\"scenario\":\"subscribe\",\"environment\":\"Xcode\"}",
            "{\"scenario\":\"subscribe\",\"name\":\"a\"}",
        ] {
            #expect(test.send(.post, "/customers", body).status == 400, "\(body)")
        }
        #expect(test.store.customers.count == 1)
    }

    @Test("notifications are bounded")
    func bound() throws {
        var log = NotificationLog()
        var test = try TestStore("subscribe")
        test.deliver()
        let one = try #require(test.store.notifications.entries.first).notification
        for _ in 0..<LocalStoreLimits.notifications + 5 {
            log.add(one, customer: 1, at: TestStore.start, isSent: true)
        }
        #expect(log.entries.count == LocalStoreLimits.notifications)
        #expect(log.entry(5) == nil && log.entry(6)?.id == 6)
        let next = try #require(log.next)
        #expect(next.id == 6)
        log.didSend(5, .success, at: TestStore.start)
        log.didSend(6, .success, at: TestStore.start)
        #expect(log.next?.id == 7)
    }
}
