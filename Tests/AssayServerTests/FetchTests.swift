import Assay
import AssayClient
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

@Suite("Fetch", .ownThread, .serialized, .timeLimit(.minutes(3))) struct FetchTests {
    private static let transaction = "470001500000001"

    @Test("The answer has the environment, the revision, the evidence and the entitlements")
    func answers() async throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        try await withClient {
            $0.ask(fetcher)
        } _: { _, client in
            var policy = EntitlementPolicy()
            policy.durations = ["pass": 5]
            let moment = Timestamp(milliseconds: Minted.now.milliseconds + 1)
            let plain = try await client.fetch(transactionId: Self.transaction)
            let full = try await client.fetch(
                transactionId: Self.transaction, lists: [.history], at: moment, policy: policy,
                returning: .typed, app: "game", timeout: .seconds(20))
            #expect(plain.environment == .sandbox && plain.revision == "r1")
            #expect(plain.items.map(\.label) == ["history 1"])
            #expect(plain.items.map(\.verification.verdict) == [.valid])
            #expect(plain.items.first?.verification.evidence == nil)
            #expect(full.items.first?.verification.evidence != nil)
            #expect(full.entitlements.at == moment)
            let asked = fetcher.asked
            #expect(asked.map(\.query.transactionId) == [Self.transaction, Self.transaction])
            #expect(asked.map { $0.query.lists.contains(.statuses) } == [true, false])
            #expect(asked.map { $0.query.lists.contains(.history) } == [true, true])
            #expect(asked.map(\.query.at) == [nil, moment])
            #expect(asked.map(\.query.policy) == [EntitlementPolicy(), policy])
            #expect(asked[1].timeout <= .seconds(20) && asked[1].timeout > .seconds(10))
        }
    }

    @Test("Each failure has its status, Apple's code, and a retry where one can help")
    func failures() throws {
        let table: [(FetchError.Reason, AssayWire.Status, retries: Bool)] = [
            (.keyNotAccepted, .failedPrecondition, false),
            (.unknownTransaction, .notFound, false),
            (.refused, .invalidArgument, false),
            (.rateLimited, .resourceExhausted, true),
            (.tooLarge, .resourceExhausted, false),
            (.unavailable, .unavailable, true),
            (.deadlineExceeded, .deadlineExceeded, false),
            (.notVerified, .dataLoss, false),
            (.cancelled, .cancelled, false),
        ]
        #expect(Set(table.map(\.0)) == FetchError.Reason.all)
        for (reason, status, retries) in table {
            for pause: UInt32? in [nil, 4_200] {
                let fetcher = ScriptedFetcher { _ throws(FetchError) in
                    throw FetchError(
                        reason, "because", appStoreCode: 4_000_006, retryAfterMilliseconds: pause)
                }
                try withServer {
                    $0.ask(fetcher)
                } _: { test in
                    let client = try RawClient(test.unix)
                    try client.send(RawClient.fetch(3))
                    let head = try #require(try client.receive()?.head)
                    #expect(head.id == 3 && head.status == status, "\(reason)")
                    #expect(head.message == "because" && head.appStoreErrorCode == 4_000_006)
                    let expected = retries ? pause ?? 1_000 : 0
                    #expect(head.retryAfterMilliseconds == expected, "\(reason)")
                    try client.expectPong()
                    #expect(test.server.metrics?.handled(.fetch, status) == 1)
                }
            }
        }
    }

    @Test("What can't be fetched is refused before anybody is asked")
    func refusals() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let long = [UInt8](repeating: 0, count: 1_048_577)
        let table: [(frame: [UInt8], AssayWire.Status)] = [
            (RawClient.fetch(1, app: "silent"), .failedPrecondition),
            (RawClient.fetch(1, app: "other"), .notFound),
            (RawClient.fetch(1, FetchCall(of: "")), .invalidArgument),
            (RawClient.fetch(1, FetchCall(of: "1", lists: [.unknown(0)])), .invalidArgument),
            (
                RawClient.fetch(1, FetchCall(of: "1", lists: [.history, .unknown(9)])),
                .invalidArgument
            ),
            (RawClient.fetch(1, body: long), .resourceExhausted),
            (RawClient.fetch(0), .invalidArgument),
        ]
        try withServer {
            $0.ask(fetcher)
        } _: { test in
            for (frame, status) in table {
                let client = try RawClient(test.unix)
                try client.send(frame)
                let head = try #require(try client.receive()?.head)
                #expect(head.status == status && !head.message.isEmpty, "\(head)")
                #expect(head.appStoreErrorCode == nil && head.retryAfterMilliseconds == 0)
            }
        }
        try withServer {
            $0.ask(fetcher)
            // A quarter of it is less than a fetch reserves at its start.
            $0.limits.evidenceBytes = (256 << 10) - 1
        } _: { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.fetch(1))
            let head = try client.receive()?.head
            #expect(head?.status == .resourceExhausted && head?.retryAfterMilliseconds == 0)
        }
        #expect(fetcher.asked.isEmpty)
    }

    @Test("Fetches at their limit cost other requests nothing, and more are refused")
    func limit() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        let token = try Minted.transaction.get()
        try withServer {
            $0.ask(fetcher)
            $0.limits.fetches = 32
        } _: { test in
            defer { held.release() }
            let client = try RawClient(test.unix)
            /// The time of a verification on the same connection, median of many.
            func verificationTime() throws -> UInt64 {
                var times: [UInt64] = []
                for _ in 0..<101 {
                    let began = test.simulated.world.nanoseconds
                    try client.send(RawClient.verify(1_000, .transaction, token))
                    let head = try client.receive()?.head
                    #expect(head?.id == 1_000 && head?.status == .ok)
                    times.append(test.simulated.world.nanoseconds - began)
                }
                return times.sorted()[50]
            }
            let alone = try verificationTime()
            for id in 1...16 { try client.send(RawClient.fetch(UInt64(id))) }
            test.eventually { $0.fetches == 16 && $0.requestsInFlight == 16 }
            let beside = try verificationTime()
            // The tasks are idle. A worker that waited for one would take until the deadline.
            #expect(beside < alone * 5 + 20_000_000, "\(beside), alone \(alone)")
            // The rest is for others.
            try client.send(RawClient.fetch(17))
            let head = try client.receive()?.head
            #expect(head?.id == 17 && head?.status == .resourceExhausted)
            #expect(head?.retryAfterMilliseconds == 1_000)
            let other = try RawClient(test.unix)
            try other.send(RawClient.fetch(1))
            test.eventually { $0.fetches == 17 }
            held.release()
            try client.expectAnswers(1...16)
            try other.expectAnswers(1...1)
            try client.send(RawClient.fetch(34))
            try client.expectAnswers(34...34)
        }
    }

    @Test("A deadline ends a fetch: that of the request, the default, or the longest")
    func deadlines() throws {
        for (timeout, milliseconds) in [
            (UInt32(50_000), UInt64(50_000)), (0, 30_000), (.max, 120_000),
        ] {
            let held = HeldFetches()
            let fetcher = held.fetcher
            try withServer {
                $0.ask(fetcher)
                $0.limits.idleMilliseconds = 1_000_000
            } _: { test in
                let client = try RawClient(test.unix)
                try client.send(RawClient.fetch(5, timeout: timeout))
                test.eventually { $0.fetches == 1 }
                test.server.advanceClock(byMilliseconds: milliseconds / 2)
                #expect(test.server.heldResources?.requestsInFlight == 1)
                test.server.advanceClock(byMilliseconds: milliseconds)
                let head = try client.receive()?.head
                #expect(head?.id == 5 && head?.status == .deadlineExceeded)
                test.eventually { $0.fetches == 0 }
                #expect(held.cancelled == 1)
                try client.expectPong()
            }
        }
    }

    @Test("The fetches of a closed connection are cancelled")
    func closed() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        try withServer {
            $0.ask(fetcher)
        } _: { test in
            let client = try RawClient(test.tcp)
            try client.send(RawClient.fetch(1) + RawClient.fetch(2))
            test.eventually { $0.fetches == 2 }
            client.socket.reset()
            test.eventually { $0.fetches == 0 }
            #expect(held.cancelled == 2)
            #expect(test.server.metrics?.handled(.fetch, .cancelled) == 2)
        }
    }

    @Test("A drain answers the fetches that were accepted, and ends those that take too long")
    func drains() throws {
        for isReleased in [true, false] {
            let held = HeldFetches()
            let fetcher = held.fetcher
            let test = try TestServer {
                $0.ask(fetcher)
                $0.limits.drainMilliseconds = 100_000
            }
            let client = try RawClient(test.unix)
            try client.send(RawClient.fetch(1, timeout: .max))
            test.eventually { $0.fetches == 1 }
            test.server.drain()
            #expect(try client.receive()?.head.id == 0)
            try client.send(RawClient.fetch(2))
            let refused = try client.receive()?.head
            #expect(refused?.id == 2 && refused?.status == .unavailable)
            if isReleased {
                held.release()
                let answer = try client.receive()?.head
                #expect(answer?.id == 1 && answer?.status == .ok)
            } else {
                test.server.advanceClock(byMilliseconds: 101_000)
            }
            #expect(try client.receive() == nil)
            client.socket.close()
            test.server.wait()
        }
    }

    @Test("Metrics and the status page: by outcome and endpoint; absent where Fetch is off")
    func metrics() throws {
        let fetcher = ScriptedFetcher { question async throws(FetchError) in
            guard question.query.transactionId == "1" else {
                throw FetchError(.unknownTransaction, "unknown", appStoreCode: 4_040_010)
            }
            return try ScriptedFetcher.answer(question)
        }
        let admin = try SimulatedAdminTest { $0.ask(fetcher) }
        defer { admin.end() }
        let client = try RawClient(admin.test.unix)
        try client.send(RawClient.fetch(1, FetchCall(of: "1")))
        try client.expectAnswers(1...1)
        try client.send(RawClient.fetch(2, FetchCall(of: "2")))
        #expect(try client.receive()?.head.status == .notFound)
        let labels = #"{grpc_type="unary",grpc_service="assay.v1.Assay",grpc_method="Fetch"}"#
        let handled = "grpc_server_handled_total" + labels.dropLast() + ",grpc_code="
        let expected: [String: Double] = [
            "grpc_server_started_total" + labels: 2, handled + "\"OK\"}": 1,
            handled + "\"NotFound\"}": 1, "grpc_server_handling_seconds_count" + labels: 1,
            #"assay_refused_requests_total{reason="unknown_app"}"#: 0,
            "assay_fetches": 0, "assay_fetches_limit": 32,
            #"assay_store_requests_total{app="game",endpoint="history",outcome="answered"}"#: 7,
            #"assay_store_retries_total{app="game"}"#: 3,
            #"assay_store_rate_waits_total{app="game"}"#: 2,
            #"assay_store_rate_wait_seconds_total{app="game"}"#: 1.5,
        ]
        var metrics: [String: Double] = [:]
        try admin.eventually {
            metrics = try admin.metrics()
            return metrics[handled + "\"NotFound\"}"] == 1
        }
        for (name, value) in expected { #expect(metrics[name] == value, "\(name)") }
        #expect(admin.get("/status").body.contains("fetches from the App Store"))
        client.socket.close()
        let silent = try SimulatedAdminTest()
        defer { silent.end() }
        #expect(try silent.metrics().keys.allSatisfy { !$0.contains("store_") })
        #expect(!silent.get("/status").body.contains("fetches from the App Store"))
    }

    @Test("A reload replaces what asks the App Store; a running fetch keeps its own")
    func reload() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        let next = ScriptedFetcher(ScriptedFetcher.answer)
        try withServer {
            $0.ask(fetcher)
        } _: { test in
            defer { held.release() }
            let client = try RawClient(test.unix)
            try client.send(RawClient.fetch(1))
            test.eventually { $0.fetches == 1 }
            var configuration = ServerConfiguration(
                listen: [],
                apps: ["game": AppEntry(verifier: test.verifier, policy: Minted.policy)],
                defaultApp: "game")
            configuration.ask(next)
            test.server.reload(configuration)
            try client.send(RawClient.fetch(2))
            try client.expectAnswers(2...2)
            held.release()
            try client.expectAnswers(1...1)
            #expect(fetcher.asked.count == 1 && next.asked.count == 1)
            configuration.apps["game"] = configuration.apps["silent"]
            test.server.reload(configuration)
            try client.send(RawClient.fetch(3))
            #expect(try client.receive()?.head.status == .failedPrecondition)
        }
    }
}
