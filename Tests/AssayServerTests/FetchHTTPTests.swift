import Assay
import AssayBytes
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import TestSupport
import Testing

@Suite("Fetch over HTTP", .ownThread, .serialized, .timeLimit(.minutes(3))) struct FetchHTTPTests {
    private static func ask(
        _ endpoint: TestAddress, _ json: String, _ fields: String = ""
    ) throws -> HTTPClient.Response {
        try HTTPClient(endpoint).ask(HTTPClient.post("/v1/fetch", json: json, fields))
    }

    @Test("The answer is that of /v1/entitlements, with environment and revision")
    func answers() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        try withHTTPServer {
            $0.ask(fetcher)
        } _: { test, endpoint in
            let policy = #"{"durationsMs":{"pass":5},"refuseFamilySharing":true}"#
            let at = Minted.now.milliseconds + 1
            let answer = try Self.ask(
                endpoint,
                #"{"transactionId":"470001","app":"game","lists":["history"],"at":\#(at),"#
                    + #""policy":\#(policy),"timeout":20}"#)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.member("environment") == "Sandbox")
            #expect(answer.member("revision") == "r1")
            #expect(answer.member("at") == "\(at)")
            #expect(answer.text.contains(#""verdict":"VALID""#))
            let asked = try #require(fetcher.asked.first)
            #expect(asked.query.transactionId == "470001" && asked.query.lists == .history)
            let asks = asked.query.policy
            #expect(asks.durations == ["pass": 5] && !asks.acceptsFamilySharing)
            #expect(asked.timeout <= .seconds(20))
            let verify = HTTPClient.post(
                "/v1/verify?kind=transaction", try Minted.transaction.get())
            #expect(try HTTPClient(endpoint).ask(verify).status == 200)
        }
    }

    @Test("Evidence stands for the newest transaction that it names")
    func evidence() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let old = String(decoding: try Minted.period(1), as: UTF8.self)
        let new = String(decoding: try Minted.period(2, later: 5), as: UTF8.self)
        let der = try Minted.receipt(bytes: 80_000)
        let receipt = Base64.encode(der.span)
        let history = #"{"signedTransactions":["\#(new)","\#(old)"]}"#
        try withHTTPServer {
            $0.ask(fetcher)
        } _: { _, endpoint in
            for evidence in [
                "\"\(old)\"", history, "\"" + String(decoding: receipt, as: UTF8.self) + "\"",
            ] {
                let answer = try Self.ask(endpoint, "{\"evidence\":\(evidence)}")
                #expect(answer.status == 200, "\(answer.text)")
            }
            for (json, words) in [
                (#"{"evidence":"\#(old)","transactionId":"1"}"#, "exclude each other"),
                ("{}", "transactionId is missing"),
                (#"{"evidence":"a.b.c"}"#, "names no transaction"),
                (#"{"evidence":"{}"}"#, "names no transaction"),
                (#"{"evidence":""}"#, "empty"), (#"{"evidence":5}"#, "not a string"),
            ] {
                let answer = try Self.ask(endpoint, json)
                #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
            }
        }
        let asked = fetcher.asked.map(\.query.transactionId)
        #expect(asked.prefix(2) == ["47001", "47002"] && asked.count == 3)
    }

    @Test("Each failure has its HTTP status, and the problem has Apple's code")
    func failures() throws {
        let table: [(FetchError.Reason, Int, retries: Bool)] = [
            (.keyNotAccepted, 500, false), (.unknownTransaction, 404, false),
            (.refused, 400, false), (.rateLimited, 429, true), (.tooLarge, 413, false),
            (.unavailable, 503, true), (.deadlineExceeded, 504, false),
            (.notVerified, 502, false), (.cancelled, 500, false),
        ]
        #expect(Set(table.map(\.0)) == FetchError.Reason.all)
        for (reason, status, retries) in table {
            let fetcher = ScriptedFetcher { _ throws(FetchError) in
                throw FetchError(
                    reason, "because", appStoreCode: 4_040_010, retryAfterMilliseconds: 4_200)
            }
            try withHTTPServer {
                $0.ask(fetcher)
            } _: { _, endpoint in
                let answer = try Self.ask(endpoint, #"{"transactionId":"1"}"#)
                #expect(answer.status == status, "\(reason): \(answer.text)")
                #expect(answer.member("appStoreErrorCode") == "4040010")
                #expect(answer.member("detail") == "because")
                #expect(answer.member("retryAfterMs") == (retries ? "4200" : nil), "\(reason)")
                #expect(answer.field("retry-after") == (retries ? "5" : nil), "\(reason)")
            }
        }
    }

    @Test("A body that says anything else is refused, and nobody is asked")
    func refusals() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let table: [(json: String, Int)] = [
            ("{}", 400), ("[]", 400), ("{", 400), (#"{"transactionId":7}"#, 400),
            (#"{"transactionId":""}"#, 400), (#"{"transactionId":"1","zz":1}"#, 400),
            (#"{"transactionId":"1","lists":"history"}"#, 400),
            (#"{"transactionId":"1","lists":["refunds"]}"#, 400),
            (#"{"transactionId":"1","lists":[1]}"#, 400),
            (#"{"transactionId":"1","at":-1}"#, 400),
            (#"{"transactionId":"1","policy":{"zz":1}}"#, 400),
            (#"{"transactionId":"1","timeout":0}"#, 400),
            (#"{"transactionId":"1","app":"other"}"#, 404),
            (#"{"transactionId":"1","app":"silent"}"#, 500),
        ]
        try withHTTPServer {
            $0.ask(fetcher)
        } _: { _, endpoint in
            for (json, status) in table {
                let answer = try Self.ask(endpoint, json)
                #expect(answer.status == status, "\(json): \(answer.text)")
                #expect(answer.member("appStoreErrorCode") == nil)
            }
            let queried = HTTPClient.post("/v1/fetch?app=game", json: #"{"transactionId":"1"}"#)
            #expect(try HTTPClient(endpoint).ask(queried).status == 400)
            let raw = HTTPClient.post("/v1/fetch", [0x31])
            #expect(try HTTPClient(endpoint).ask(raw).status == 415)
        }
        #expect(fetcher.asked.isEmpty)
    }

    @Test("Where an entry has keys, a key is needed and chooses the entry")
    func keys() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let key = "0123456789abcdef0123"
        try withHTTPServer {
            $0.ask(fetcher, keys: [key])
        } _: { test, endpoint in
            let body = #"{"transactionId":"1"}"#
            let right = "Authorization: Bearer \(key)\r\n"
            let table: [(json: String, fields: String, Int)] = [
                (body, "", 401), (body, "Authorization: Bearer x\(key)\r\n", 403),
                (body, right, 200), (#"{"transactionId":"1","app":"game"}"#, right, 200),
                (#"{"transactionId":"1","app":"silent"}"#, right, 403),
            ]
            for (json, fields, status) in table {
                let answer = try Self.ask(endpoint, json, fields)
                #expect(answer.status == status, "\(json) \(fields): \(answer.text)")
            }
            #expect(fetcher.asked.count == 2)
            #expect(test.log.count(of: key) == 0)
        }
    }
}
