import AssayClient
import AssayIO
import AssayModels
import AssayWire
import Glibc
import TestSupport
import Testing

private func refusal(_ id: UInt64, detail: String) -> ResponseHead {
    ResponseHead(
        id: id, result: .verification(Verification(verdict: .malformed, detail: detail)))
}

private let call = VerifyCall(kind: .transaction)

/// Returns the error of a call, or nil.
private func error<Answer>(
    of call: () async throws(ClientError) -> Answer
) async -> ClientError? {
    do throws(ClientError) {
        _ = try await call()
        return nil
    } catch { return error }
}

@Suite(.timeLimit(.minutes(1))) struct AssayClientTests {
    @Test func answersMatchTheirRequests() async throws {
        // Keeps 500 requests at a time, then answers them in random order in one write.
        try await withServer { peer, head, body in
            let detail = String(decoding: body, as: UTF8.self)
            peer.later.append(peer.frame(refusal(head.id, detail: detail), body: body))
            guard peer.later.count == 500 else { return }
            peer.write(Array(peer.later.shuffled().joined()))
            peer.later = []
        } _: { server, client in
            let right = await withTaskGroup { group in
                for number in 0..<10_000 {
                    group.addTask {
                        let evidence = Array("evidence \(number)".utf8)
                        let answer = try? await client.verify(evidence, call)
                        return answer?.payloadJSON == evidence
                            && answer?.verification.detail == "evidence \(number)"
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(right == 10_000)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func neverMoreInFlightThanAllowed() async throws {
        let most = Locked(0)
        let options = ClientOptions(timeout: ClientOptions.longestTimeout, inFlightLimit: 7)
        try await withServer(options) { peer, head, _ in
            peer.kept.append(head.id)
            most.withLock { $0 = max($0, peer.kept.count) }
            if peer.kept.count == 7 { peer.kept.forEach(peer.pong) }
            if peer.kept.count == 7 { peer.kept = [] }
        } _: { _, client in
            await withTaskGroup { group in
                for _ in 0..<70 { group.addTask { try? await client.ping() } }
            }
        }
        #expect(most.withLock { $0 } == 7)
    }

    private static let moment = Timestamp(milliseconds: 1)

    @Test func everyCallGetsItsAnswer() async throws {
        let info = ServerInfo(
            version: "1", kinds: [.transaction],
            limits: .init(
                frameBytes: 1, headBytes: 2, jwsBytes: 3, notificationBytes: 4,
                requestsInFlight: 5),
            trustedRoots: [], proto: "syntax")
        let seen = Locked<[RequestHead]>([])
        let path = "/tmp/assay-client-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        try await withServer(at: .unix(path: path)) { peer, head, _ in
            seen.withLock { $0.append(head) }
            switch head.call {
            case .health: peer.answer(ResponseHead(id: head.id, result: .health(serving: true)))
            case .info: peer.answer(ResponseHead(id: head.id, result: .info(info)))
            case .ping: peer.pong(head.id)
            case .verify:
                peer.answer(
                    ResponseHead(
                        id: head.id, status: .notFound, message: "no app \(head.app)",
                        retryAfterMilliseconds: 9))
            case .resolve(let call):
                let items = call.items.map { item in
                    ResolvedItem(
                        EvidenceItem(
                            Verification(verdict: .malformed, detail: "no evidence"),
                            label: item.label))
                }
                peer.answer(
                    ResponseHead(
                        id: head.id,
                        result: .resolution(
                            Resolution(
                                items: call.items.count == 3 ? [] : items,
                                entitlements: Entitlements(at: call.at ?? Self.moment)))))
            case .fetch, .unknown: peer.close()
            }
        } _: { _, client in
            try await client.ping()
            #expect(try await client.health())
            #expect(try await client.info() == info)
            let items = [ResolveItem([1], label: "a"), ResolveItem([2, 3], as: .transaction)]
            let answer = try await client.resolve(items, at: Timestamp(milliseconds: 7))
            #expect(answer.items.map(\.label) == ["a", nil])
            #expect(answer.entitlements.at == Timestamp(milliseconds: 7))
            #expect(
                await error {
                    () async throws(ClientError) in
                    try await client.resolve(items + items.prefix(1))
                } == .protocolViolation("the answer does not fit the items"))
            let refused = ClientError.status(
                .notFound, message: "no app shop", retryAfterMilliseconds: 9)
            #expect(
                await error {
                    () async throws(ClientError) in
                    try await client.verify([1], call, app: "shop", timeout: .seconds(20))
                } == refused)
        }
        let last = try #require(seen.withLock { $0.last })
        #expect(last.call == .verify(call) && last.app == "shop")
        #expect((1...20_000).contains(last.timeoutMilliseconds))
    }

    @Test func errorsHaveTheCodeOfTheAppStore() async throws {
        try await withServer { peer, head, _ in
            peer.answer(
                ResponseHead(
                    id: head.id, status: .notFound, message: "unknown",
                    appStoreErrorCode: 4_040_010))
        } _: { _, client in
            let unknown = ClientError.status(
                .notFound, message: "unknown", retryAfterMilliseconds: 0,
                appStoreErrorCode: 4_040_010)
            #expect(
                await error {
                    () async throws(ClientError) in try await client.fetch(transactionId: "470001")
                } == unknown)
        }
    }

    @Test func theServerLearnsWhichCallsMayWait() async throws {
        let seen = Locked<[Bool]>([])
        try await withServer { peer, head, _ in
            seen.withLock { $0.append(head.mayWait) }
            peer.answer(refusal(head.id, detail: ""))
        } _: { _, client in
            _ = try await client.verify([1], call)
            _ = try await client.verify([1], call, mayWait: true)
            _ = try await client.verify([1], call, mayWait: false)
        }
        #expect(seen.withLock { $0 } == [false, true, false])
    }

    @Test(.enabled(if: TimedTests.areEnabled))
    func deadlineWithoutAServer() async throws {
        try await withServer { peer, head, _ in
            if case .health = head.call {
                // On a busy machine the ping can time out before it is sent.
                if let late = peer.kept.first { peer.pong(late) }
                peer.answer(ResponseHead(id: head.id, result: .health(serving: false)))
            }
            peer.kept.append(head.id)
        } _: { server, client in
            let clock = ContinuousClock()
            let start = clock.now
            let late = await error { () async throws(ClientError) in
                try await client.ping(timeout: .milliseconds(50))
            }
            #expect(late == .deadlineExceeded)
            #expect(clock.now - start >= .milliseconds(50))
            // A late answer does not affect other calls.
            let isServing = try await client.health()
            #expect(!isServing)
            // Ten seconds without an answer, possible on a starved machine, close the connection.
            if clock.now - start < .seconds(9) { #expect(server.connectionCount == 1) }
        }
    }

    @Test func serverDeadlineIsTheSameError() async throws {
        try await withServer { peer, head, _ in
            peer.answer(ResponseHead(id: head.id, status: .deadlineExceeded))
        } _: { _, client in
            #expect(
                await error { () async throws(ClientError) in try await client.ping() }
                    == .deadlineExceeded)
        }
    }

    @Test("lines 65 and 69: a cancelled call ends at once, and its answer is ignored")
    func aCancelledTaskStopsWaiting() async throws {
        let arrived = Latch()
        try await withServer { peer, head, _ in
            if case .health = head.call {
                peer.kept.forEach(peer.pong)
                peer.answer(ResponseHead(id: head.id, result: .health(serving: true)))
            } else {
                peer.kept.append(head.id)
                if peer.kept.count == 100 { arrived.open() }
            }
        } _: { server, client in
            let tasks = (0..<100).map { _ in
                Task {
                    await error { () async throws(ClientError) in try await client.ping() }
                }
            }
            #expect(await arrived.opens())
            for task in tasks { task.cancel() }
            for task in tasks { #expect(await task.value == .cancelled) }
            let isServing = try await client.health()
            #expect(isServing)
            // A call is also cancelled before it is sent.
            let early = Task {
                try? await Task.sleep(for: .seconds(20))
                return await error { () async throws(ClientError) in try await client.ping() }
            }
            early.cancel()
            #expect(await early.value == .cancelled)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func closeEndsPendingCalls() async throws {
        let arrived = Latch()
        try await withServer { peer, _, _ in
            arrived.open()
        } _: { _, client in
            let tasks = (0..<10).map { _ in
                Task { await error { () async throws(ClientError) in try await client.ping() } }
            }
            #expect(await arrived.opens())
            client.close()
            client.close()
            for task in tasks { #expect(await task.value == .closed) }
            #expect(
                await error { () async throws(ClientError) in try await client.ping() } == .closed)
        }
    }

    @Test("a form of payloads that a call does not return is refused before anything is sent")
    func returnedPayloads() async throws {
        try await withServer { peer, _, _ in
            peer.close()
        } _: { server, client in
            let errors = [
                await error { () async throws(ClientError) in
                    try await client.resolve([ResolveItem([1])], returning: .verifyReceiptJSON)
                },
                await error { () async throws(ClientError) in
                    try await client.fetch(transactionId: "1", returning: .json)
                },
                await error { () async throws(ClientError) in
                    try await client.fetch([1], returning: [.typed, .json])
                },
            ]
            #expect(errors.allSatisfy { $0?.reason == .invalidArgument }, "\(errors)")
            #expect(server.connectionCount == 0)
        }
    }

    @Test func oversizedRequestsAreNotSent() async throws {
        var options = ClientOptions.longTimeout
        options.requestLimits = FrameLimits(frameBytes: 1000, headBytes: 100)
        try await withServer(options) { peer, head, _ in
            peer.answer(refusal(head.id, detail: ""))
        } _: { _, client in
            let long = String(repeating: "a", count: 100)
            for size in [990, 1001, 2000] {
                let body = [UInt8](repeating: 1, count: size)
                #expect(
                    await error { () async throws(ClientError) in
                        try await client.verify(body, call)
                    } == .requestTooLarge)
            }
            #expect(
                await error { () async throws(ClientError) in
                    try await client.verify([], call, app: long)
                } == .requestTooLarge)
            _ = try await client.verify([UInt8](repeating: 1, count: 900), call)
        }
    }
}
