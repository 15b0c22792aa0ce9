import Assay
import AssayBytes
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: faults and limits")
struct StoreFaultTests {
    private static let id = "470001000000100"
    private static let history = "/inApps/v2/history/\(id)"

    private func inject(_ test: inout TestStore, _ fault: String) {
        let answer = test.send(.post, "/faults", fault)
        #expect(answer.status == 200, "\(fault): \(String(decoding: answer.body, as: UTF8.self))")
    }

    @Test("a fault changes the next requests of its endpoint, and no others")
    func count() throws {
        var test = try TestStore("subscribe")
        inject(&test, #"{"endpoint":"history","code":5000001,"count":2}"#)
        #expect(test.get("/inApps/v1/subscriptions/\(Self.id)").status == 200)
        for _ in 0..<2 {
            let answer = test.get(Self.history)
            #expect(answer.status == 500 && answer.code == 5_000_001)
        }
        #expect(test.get(Self.history).status == 200)
        inject(&test, #"{"status":401}"#)
        let bare = test.get("/inApps/v1/subscriptions/\(Self.id)")
        #expect(bare.status == 401 && bare.body == [])
        inject(&test, #"{"endpoint":"any","status":429,"retryAfter":"soon","body":"<html>"}"#)
        let limited = test.get(Self.history)
        #expect(limited.status == 429 && limited.fields["Retry-After"] == "soon")
        #expect(limited.body == Array("<html>".utf8))
    }

    @Test("a fault of one environment leaves the other as it is")
    func environment() throws {
        var test = try TestStore("subscribe")
        try test.add("subscribe", .sandbox)
        inject(&test, #"{"status":401,"environment":"Production","count":2}"#)
        inject(&test, #"{"endpoint":"history","status":500,"environment":"Sandbox"}"#)
        let sandbox = "/sandbox/inApps/v2/history/2000000000200100"
        #expect(test.get(sandbox).status == 500)
        #expect(test.get(sandbox).status == 200)
        #expect(test.get(Self.history).status == 401)
        #expect(test.get("/inApps/v1/subscriptions/\(Self.id)").status == 401)
        #expect(test.get(Self.history).status == 200)
        for name in ["\"sandbox\"", "\"Xcode\"", "1"] {
            let answer = test.send(.post, "/faults", "{\"status\":401,\"environment\":\(name)}")
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(
                answer.status == 400 && text.contains("must be Production or Sandbox"), "\(text)")
        }
    }

    @Test("faults of pages")
    func pages() throws {
        var test = try TestStore("customers-life", pageSize: 2)
        try test.advance("44d")
        let first = test.get(Self.history)
        let revision = try #require(try first.json["revision"]?.string)
        let second = Self.history + "?revision=" + revision
        inject(&test, #"{"page":"repeated"}"#)
        #expect(try test.get(second).tokens.count == 2)
        inject(&test, #"{"page":"still"}"#)
        let still = test.get(second)
        #expect(try still.json["revision"]?.string == revision)
        #expect(try still.json["hasMore"]?.bool == true)
        inject(&test, #"{"page":"empty"}"#)
        let empty = test.get(second)
        #expect(try empty.tokens == [] && empty.json["hasMore"]?.bool == true)
        inject(&test, #"{"page":"other-app"}"#)
        for token in try test.get(second).tokens {
            #expect(try payload(token)["bundleId"]?.string == "com.example.another-app")
        }
        inject(&test, #"{"page":"bad-signature"}"#)
        let genuine = try #require(try test.get(second).tokens.first)
        #expect(genuine.withOtherSignature != genuine)
        #expect(genuine.withOtherSignature.utf8.count == genuine.utf8.count)
        inject(&test, #"{"page":"endless","count":50}"#)
        var revisions: Set<String> = []
        var last = revision
        for _ in 0..<50 {
            let page = test.get(Self.history + "?revision=" + last)
            #expect(try page.json["hasMore"]?.bool == true)
            last = try page.json["revision"]?.string ?? ""
            revisions.insert(last)
        }
        #expect(revisions.count == 50)
        #expect(try test.get(second).json["hasMore"]?.bool == false)
    }

    @Test("faults of the delivery")
    func delivery() throws {
        var test = try TestStore("subscribe")
        inject(&test, #"{"delay":50,"dribble":2,"cut":10}"#)
        let delivery = test.get(Self.history).delivery
        #expect(delivery == StoreResponse.Delivery(delay: 50, dribble: 2, cut: 10))
        #expect(test.get(Self.history).delivery == StoreResponse.Delivery())
    }

    @Test("a fault that changes nothing, or more than it can, is refused")
    func refusals() throws {
        var test = try TestStore()
        for body in [
            "", "{}", #"{"endpoint":"history"}"#, #"{"endpoint":"other","status":500}"#,
            #"{"status":99}"#, #"{"status":600}"#, #"{"status":"500"}"#, #"{"code":500}"#,
            #"{"count":0,"status":500}"#, #"{"count":1000001,"status":500}"#,
            #"{"delay":600001}"#, #"{"delay":-1}"#, #"{"cut":-1}"#, #"{"page":"none"}"#,
            #"{"retryAfter":5}"#, #"{"status":500,"retryAfter":"a\r\nb: c"}"#,
            #"{"status":500,"sleep":5}"#,
        ] {
            #expect(test.send(.post, "/faults", body).status == 400, "\(body)")
        }
        for _ in 0..<LocalStoreLimits.faults { inject(&test, #"{"status":500}"#) }
        #expect(test.send(.post, "/faults", #"{"status":500}"#).status == 400)
        #expect(test.send(.delete, "/faults").status == 200)
        #expect(test.store.faults.faults.isEmpty)
    }

    // MARK: Rate limits

    @Test("the requests beyond Apple's limit get 429, with the next moment in milliseconds")
    func limits() throws {
        for (environment, path, id, count) in [
            (APIEnvironment.production, "", Self.id, 50),
            (.sandbox, "/sandbox", "2000000000100100", 5),
        ] {
            var test = try TestStore(limitsRates: true)
            try test.add("subscribe", environment)
            let target = "\(path)/inApps/v1/subscriptions/\(id)"
            for _ in 0..<count { #expect(test.get(target).status == 200) }
            let limited = test.get(target)
            #expect(limited.code == AppleError.rateLimitExceeded.rawValue)
            let next = try #require(limited.fields["Retry-After"].flatMap(Int64.init))
            #expect(next == TestStore.clock + Int64(1000 / count))
            #expect(test.send(.get, target, at: next - 1).status == 429)
            #expect(test.send(.get, target, at: next).status == 200)
            // Another endpoint has its own limit.
            #expect(test.get("\(path)/inApps/v2/history/\(id)").status == 200)
        }
    }

    @Test("a clock that steps back fills no bucket")
    func clock() {
        var limits = RateLimits()
        for _ in 0..<10 { #expect(limits.take(.refunds, .production, at: 5000) == nil) }
        #expect(limits.take(.refunds, .production, at: 4000) != nil)
        #expect(limits.take(.refunds, .production, at: 5000) == 5100)
        #expect(limits.take(.advancedCommerce, .production, at: 5000) == nil)
    }
}
