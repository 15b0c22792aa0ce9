import AssayBytes
import AssayEntitlements
import AssayServer
import AssayWire
import TestSupport
import Testing

@Suite("Fetch by evidence", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct FetchEvidenceTests {
    private static let none = FetchCall(of: "")

    /// The status of the answer to a Fetch with a body.
    private static func status(
        _ call: FetchCall, _ body: [UInt8], of app: String, _ client: RawClient
    ) throws -> AssayWire.Status? {
        try client.send(RawClient.fetch(7, call, app: app, body: body))
        return try client.receive()?.head.status
    }

    @Test("Evidence in the body stands for the newest transaction that it names")
    func evidence() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let der = try Minted.receipt(bytes: 80_000)
        let receipt = Base64.encode(der.span)
        let old = try Minted.period(1)
        let new = String(decoding: try Minted.period(2, later: 5), as: UTF8.self)
        let text = String(decoding: old, as: UTF8.self)
        let history = Array(#"{"signedTransactions":["\#(new)","\#(text)"]}"#.utf8)
        try withServer {
            $0.ask(fetcher)
        } _: { test in
            let client = try RawClient(test.unix)
            #expect(try Self.status(Self.none, old, of: "game", client) == .ok)
            #expect(try Self.status(Self.none, history, of: "game", client) == .ok)
            // Above the size that is read in place.
            #expect(try Self.status(Self.none, receipt, of: "game", client) == .ok)
            try client.expectPong()
        }
        let asked = fetcher.asked.map(\.query.transactionId)
        #expect(asked.prefix(2) == ["47001", "47002"] && asked.count == 3)
    }

    @Test("Evidence without a transaction, or beside an identifier, is refused")
    func refusals() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let empty = Array("{}".utf8)
        let token = try Minted.period(1)
        let named = FetchCall(of: "1")
        try withServer {
            $0.ask(fetcher)
        } _: { test in
            let client = try RawClient(test.unix)
            #expect(try Self.status(Self.none, empty, of: "game", client) == .invalidArgument)
            #expect(try Self.status(named, token, of: "game", client) == .invalidArgument)
            #expect(try Self.status(Self.none, token, of: "silent", client) == .failedPrecondition)
            try client.expectPong()
        }
        #expect(fetcher.asked.isEmpty)
    }
}
