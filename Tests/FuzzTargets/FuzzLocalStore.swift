import Assay
import AssayHTTP
import AssayMint
import AssayModels
import TestSupport

@testable import AssayLocalStore

extension FuzzTarget {
    /// Requests to a local store, one on each line: `METHOD TARGET TYPE BODY`. Each has an answer
    /// with a status that HTTP has, and the answer of a backend has one status at most.
    static func localStore(_ authority: FuzzAuthority) -> FuzzTarget {
        let store = Self.store(authority)
        let words = [
            "/inApps/v1/subscriptions/", "/inApps/v2/history/", "/sandbox/inApps/v1/lookup/",
            "470001000000100", "revision=", "sort=DESCENDING", "/advance", "/customers", "/faults",
            "duration", "scenario", "extendByDays", "customerConsented", "startDate", "endDate",
            "endless", "HTTP/1.1 200", "1735689600000_1_0_0_811c9dc5",
        ]
        return FuzzTarget("LocalStore", seeds: Self.storeSeeds, words: words) { bytes in
            checkStore(bytes, store)
        }
    }

    private static func store(_ authority: FuzzAuthority) -> LocalStore {
        let settings = StoreSettings(
            authority: authority.tokens, start: FuzzAuthority.now, limitsRates: false)
        guard let store = try? LocalStore(settings) else {
            preconditionFailure("the authority signs")
        }
        return store
    }

    private static let storeSeeds: [[UInt8]] = [
        #"POST /customers json {"scenario":"grace-period"}"# + "\n"
            + "GET /inApps/v1/subscriptions/470001000000100?status=1 json \n"
            + #"POST /advance json {"duration":"30d"}"# + "\n"
            + "GET /inApps/v2/history/470001000000100?sort=DESCENDING json ",
        #"POST /faults json {"endpoint":"history","page":"endless","count":3}"# + "\n"
            + "GET /inApps/v2/history/1 json \nGET / json ",
        "POST /customers form scenario=refund&environment=Sandbox\n"
            + "PUT /sandbox/inApps/v1/subscriptions/extend/470001000000100 json "
            + #"{"extendByDays":7,"extendReasonCode":1,"requestIdentifier":"a"}"#,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ].map { Array($0.utf8) }

    private static func checkStore(_ bytes: Span<UInt8>, _ start: LocalStore) {
        var all: [UInt8] = []
        for index in bytes.indices { all.append(bytes[index]) }
        if case .status(let status) = AnswerHead(bytes) {
            precondition((100...599).contains(status))
        }
        var store = start
        for line in all.split(separator: UInt8(ascii: "\n")).prefix(8) {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
            guard parts.count >= 3 else { continue }
            let target = parts[1].split(separator: UInt8(ascii: "?"), maxSplits: 1)
            let query = Array(target.count > 1 ? target[1] : [])
            let isForm = parts[2].elementsEqual("form".utf8)
            guard let method = StoreMethod(rawValue: String(decoding: parts[0], as: UTF8.self))
            else { continue }
            let status = status(
                of: StoreRequest(
                    method: method, path: String(decoding: target.first ?? [], as: UTF8.self),
                    query: HTTPQuery(query.span)?.parameters ?? [],
                    contentType: isForm ? "application/x-www-form-urlencoded" : "application/json",
                    authorization: StoreToken.bearer("com.example.game", at: store.now.seconds),
                    body: Array(parts.count > 3 ? parts[3] : []), time: store.now.milliseconds),
                &store)
            precondition((200...599).contains(status))
        }
    }

    /// Answers a request, and lets time move without sending anything.
    private static func status(of request: StoreRequest, _ store: inout LocalStore) -> Int {
        switch store.reply(to: request) {
        case .answer(let answer): return answer.status
        case .moving(let moved):
            while case .send(let id, _, _) = store.nextWork() { store.didSend(id, .socketIssue) }
            return store.answer(moved).status
        }
    }
}
