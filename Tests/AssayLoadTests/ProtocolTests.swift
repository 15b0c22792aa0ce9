import AssayBytes
import AssayClient
import AssayHTML
import AssayHTTP
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import Foundation
import TestSupport
import Testing

@testable import AssayLoad

extension Target {
    /// The settings of a run that speaks one protocol.
    func settings(
        _ name: LoadProtocol, _ pace: Pace, seconds: Double = 0.5, connections: Int = 2
    ) -> LoadSettings {
        var settings = settings(pace, seconds: seconds, connections: connections)
        settings.endpoint = server.endpoints[name == .frames ? 0 : 1]
        settings.loadProtocol = name
        return settings
    }
}

@Suite("Protocols of a load", .serialized)
struct ProtocolTests {
    @Test(
        "tokens, receipts and resolves, genuine and forged, count once, as correct",
        arguments: LoadProtocol.allCases)
    func mix(name: LoadProtocol) async throws {
        let target = try Target()
        defer { target.stop() }
        var groups = try [.transaction, .renewalInfo, .notification, .appTransaction].map { kind in
            LoadGroup("\(kind)", weight: 10, try target.pool.genuine(kind, count: 2))
        }
        groups += [
            LoadGroup(
                "receipt", weight: 10,
                try target.pool.genuine(.appReceipt, size: 100 << 10, count: 2)),
            LoadGroup(
                "forged receipt", weight: 10,
                try target.pool.forged(.appReceipt, size: 8 << 10, count: 2)),
            LoadGroup("forged", weight: 20, try target.pool.forged(.transaction, count: 4)),
        ]
        if name.hasResolve {
            groups += [
                LoadGroup("resolve", weight: 10, try target.pool.resolves(ofItems: 5, count: 2)),
                LoadGroup(
                    "forged resolve", weight: 10,
                    try target.pool.resolves(ofItems: 5, isForged: true, count: 2)),
            ]
        }
        let settings = target.settings(name, .open(rate: 200, .constant))
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 100, correct: 100), "\(result.summary)")
        #expect(result.groups.allSatisfy { $0.counts.sent > 0 }, "\(result.summary)")
    }

    @Test(
        "evidence of all stores, genuine and forged, counts once, as correct",
        arguments: LoadProtocol.allCases)
    func stores(name: LoadProtocol) async throws {
        let kinds = EvidenceKind.allCases.filter { $0.store != .apple }
        let target = try Target(stores: kinds.filter { !$0.traits.hasChain })
        defer { target.stop() }
        let groups = try kinds.flatMap { kind in
            [
                LoadGroup(kind.name, weight: 1, try target.pool.genuine(kind, count: 2)),
                LoadGroup("forged " + kind.name, weight: 1, try target.pool.forged(kind, count: 2)),
            ]
        }
        let settings = target.settings(name, .open(rate: 200, .constant))
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 100, correct: 100), "\(result.summary)")
        #expect(result.groups.allSatisfy { $0.counts.sent > 0 }, "\(result.summary)")
    }

    @Test("a closed loop keeps its depth", arguments: LoadProtocol.allCases)
    func closed(name: LoadProtocol) async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 8))
        ]
        let settings = target.settings(name, .closed, seconds: 1, connections: 3)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts.correct > 12, "more than one turn of 3 connections and depth 4")
        #expect(result.isClean, "\(result.summary)")
    }

    @Test("a verdict that is not the expected one is wrong", arguments: LoadProtocol.allCases)
    func wrong(name: LoadProtocol) async throws {
        let target = try Target(isForeign: true)
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let settings = target.settings(name, .open(rate: 100, .constant))
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 50, wrong: 50), "\(result.summary)")
        let complaint = try #require(result.complaints.first)
        #expect(complaint.what.hasPrefix("UNTRUSTED_CHAIN where VALID was expected: "))
    }

    @Test(
        "a refusal because of a limit is counted separately",
        arguments: [LoadProtocol.frames, .http, .h2Raw, .grpc, .grpcStream, .connect])
    func refused(name: LoadProtocol) async throws {
        let target = try Target { $0.limits.evidenceBytes = 1 }
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        let settings = target.settings(name, .open(rate: 20, .constant))
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 10, refused: 10), "\(result.summary)")
        let reason = try #require(result.complaints.first?.what)
        #expect(
            ["RESOURCE_EXHAUSTED", "413", "429"].contains(where: reason.hasPrefix), "\(reason)")
    }

    @Test(
        "another refusal is an error",
        arguments: [LoadProtocol.frames, .httpRaw, .grpc, .grpcStream, .connectH2])
    func errors(name: LoadProtocol) async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        var settings = target.settings(name, .open(rate: 20, .constant))
        settings.app = "none"
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 10, errors: 10), "\(result.summary)")
        #expect(
            result.complaints.first?.what.contains("no such app entry") == true, "\(result.summary)"
        )
    }

    @Test(
        "a run ends with errors when the server disconnects",
        arguments: [LoadProtocol.http, .grpc, .grpcStream])
    func gone(name: LoadProtocol) async throws {
        let target = try Target()
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let settings = target.settings(name, .open(rate: 100, .constant), seconds: 4)
        let server = target.server
        let run = LoadRun(settings, groups) { moment in
            if !moment.isWarmUp, moment.counts.correct > 0 { server.drain() }
        }
        let result = try await run.run(Flag().flag)
        server.wait()
        #expect(result.counts.correct > 0 && result.counts.errors > 0, "\(result.summary)")
        #expect(result.counts.answered == result.counts.sent, "\(result.summary)")
    }

    @Test(
        "an address where something else is spoken is reported",
        arguments: [LoadProtocol.frames, .http, .grpc])
    func foreign(name: LoadProtocol) async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        var settings = target.settings(name, .closed)
        let path = try #require(target.server.endpoints[name == .frames ? 1 : 0].unixPath)
        settings.endpoint = name == .frames ? .unix(path: path) : .unixHTTP(path: path)
        settings.loadProtocol = name
        do throws(LoadError) {
            _ = try await LoadRun(settings, groups).run(Flag().flag)
            Issue.record("it ran")
        } catch {
            guard case .notReached = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("a depth is pipelined over HTTP/1.1, and no depth is not")
    func depth() {
        func inFlight(_ name: LoadProtocol, _ depth: Int) -> Int {
            var settings = LoadSettings(
                endpoint: .http(host: "localhost", port: 1), pace: .closed, depth: depth)
            settings.loadProtocol = name
            return settings.inFlight
        }
        for (name, depth, expected) in [
            (LoadProtocol.http, LoadLimits.openDepth, 1), (.http, 8, 8), (.connect, 1, 1),
            (.grpc, 8, 8), (.grpc, LoadLimits.openDepth, LoadLimits.openDepth),
            (.grpcStream, LoadLimits.openDepth, LoadLimits.depth), (.grpcStream, 8, 8),
        ] { #expect(inFlight(name, depth) == expected, "\(name) \(depth)") }
    }

    @Test(
        "heads of responses",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", .init(200, 38, 5)),
            ("HTTP/1.1 429 Too Many\r\nA: b\r\ncontent-length:0\r\n\r\n", .init(429, 49, 0)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r", .incomplete),
            ("HTTP/1.1 200 OK\r\nX-Content-Length: 5\r\n\r\n", .fault),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .fault),
            ("HTTP/1.1 200 OK\r\nContent-Length: 12345678901\r\n\r\n", .fault),
            ("HTTP/1.1 999 No\r\nContent-Length: 5\r\n\r\n", .fault),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", .fault), ("\u{0}\u{0}", .fault),
            ("HT", .incomplete), ("", .incomplete),
            ("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 20_000), .fault),
        ] as [(String, ExpectedHead)])
    func heads(text: String, expected: ExpectedHead) {
        switch HTTPResponseHead.read(Array(text.utf8).span) {
        case .head(let head):
            #expect(expected == .init(head.status, head.headBytes, head.bodyBytes))
        case .incomplete: #expect(expected == .incomplete)
        case .fault: #expect(expected == .fault)
        }
    }

    struct ExpectedHead: Equatable, Sendable {
        var numbers: [Int]

        init(_ status: Int, _ head: Int, _ body: Int) { numbers = [status, head, body] }

        static let incomplete = ExpectedHead(0, 0, 0)
        static let fault = ExpectedHead(-1, 0, 0)
    }
}

@Suite("Comparison of protocols")
struct ComparisonTests {
    private func run(_ name: LoadProtocol, _ result: LoadResult) -> ProtocolRun {
        var result = result
        result.settings.loadProtocol = name
        return ProtocolRun(result)
    }

    private let record = RunRecord(
        command: "assay load <x>", date: "2026-11-22T18:00:00Z", version: "1.2.3",
        machine: .init(processor: "Quick 9000", processors: 2, system: "Debian"))

    @Test("protocols stand side by side, each with its details and its failures")
    func page() {
        let comparison = ProtocolComparison([
            run(.grpc, fakeResult()), run(.httpRaw, fakeResult(wrong: 3)),
            run(.frames, fakeResult(lateness: 9_000_000)),
        ])
        let page = comparison.page(record)
        for text in [
            "grpc, in detail", "http-raw, in detail", "assay load &lt;x&gt;",
            "data-label=\"Protocol\">grpc<", "data-label=\"not correct\">3<",
            "data-label=\"generator\">250 µs<", "\"bad\">http-raw: not every answer",
            "\"bad\">frames: the generator was late", "prefers-color-scheme:dark",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(
            page.components(separatedBy: "<svg").count == 2 + 3 * 3 + 1,
            "two, and three of each run")
        #expect(page.components(separatedBy: "<details>").count == 4)
        #expect(!page.contains("<script"))
        let lines = comparison.text.split(separator: "\n")
        #expect(lines.count == 4 && Set(lines.map(\.count)).count == 1, "columns are aligned")
    }

    @Test("the server's column is there where the processor time of a server is known")
    func serverColumn() {
        for (times, expected) in [([0.5, nil], true), ([nil, nil], false)] as [([Double?], Bool)] {
            let comparison = ProtocolComparison(
                zip([LoadProtocol.grpc, .frames], times).map { run($0, fakeResult(server: $1)) })
            #expect(comparison.page(record).contains("data-label=\"server\"") == expected)
            #expect(comparison.text.contains("server") == expected)
        }
    }

    @Test("each protocol has a colour of its own, light and dark")
    func colours() {
        #expect(LoadProtocol.allCases.count <= Plot.colors)
        for index in 0..<Plot.colors {
            let definitions = ReportStyle.css.components(separatedBy: "--s\(index):#")
            #expect(definitions.count == 3)
        }
    }

    @Test("the JSON has a run for each protocol")
    func json() throws {
        let text = LoadResult.json(
            [run(.grpc, fakeResult()), run(.frames, fakeResult(.closed))], record)
        let runs = try JSONDocument.parse(text).root.members?["runs"]?.elements.map(Array.init)
        #expect(runs?.map { $0.members?["protocol"]?.string } == ["grpc", "frames"])
        #expect(runs?.map { $0.members?["loop"]?.string } == ["open", "closed"])
    }
}
