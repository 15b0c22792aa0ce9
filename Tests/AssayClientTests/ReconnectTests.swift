import AssayClient
import AssayIO
import AssayModels
import AssayWire
import Glibc
import TestSupport
import Testing

private func pingError(_ client: AssayClient) async -> ClientError? {
    do throws(ClientError) {
        try await client.ping()
        return nil
    } catch { return error }
}

private func pings(_ count: Int, _ client: AssayClient) async -> [ClientError?] {
    await withTaskGroup { group in
        for _ in 0..<count { group.addTask { await pingError(client) } }
        return await group.reduce(into: []) { $0.append($1) }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ReconnectTests {
    /// The first connection closes after ten requests. Later connections answer.
    private static let firstOneGoes: FakeServer.Answering = { peer, head, _ in
        guard peer.number == 1 else { return peer.pong(head.id) }
        peer.kept.append(head.id)
        if peer.kept.count == 10 { peer.close() }
    }

    @Test func aLossEndsCallsInFlight() async throws {
        try await withServer(.longTimeoutNoRetry, answering: Self.firstOneGoes) { server, client in
            #expect(await pings(10, client).allSatisfy { $0 == .connectionLost })
            #expect(await pings(10, client).allSatisfy { $0 == nil })
            #expect(server.connectionCount == 2)
        }
    }

    @Test func aLossIsRetriedOnce() async throws {
        try await withServer(answering: Self.firstOneGoes) { server, client in
            #expect(await pings(10, client).allSatisfy { $0 == nil })
            #expect(server.connectionCount == 2)
        }
        try await withServer { peer, _, _ in
            peer.close()
        } _: { server, client in
            #expect(await pingError(client) == .connectionLost)
            #expect(server.connectionCount == 2)
        }
    }

    @Test(.enabled(if: TimedTests.areEnabled))
    func consecutiveAttemptsPause() async throws {
        var options = ClientOptions.longTimeoutNoRetry
        options.shortestPause = .milliseconds(40)
        options.longestPause = .milliseconds(80)
        try await withServer(options) { peer, _, _ in
            peer.close()
        } _: { server, client in
            let clock = ContinuousClock()
            let start = clock.now
            for _ in 0..<4 { #expect(await pingError(client) == .connectionLost) }
            // Backs off for at least 20, 40 and 40 ms, at most 40, 80 and 80 ms.
            #expect(clock.now - start >= .milliseconds(90))
            #expect(server.connectionCount == 4)
        }
    }

    @Test func aRefusedConnectionIsReported() async throws {
        let server = try FakeServer { _, _, _ in }
        server.stop()
        let client = try AssayClient(address: server.endpoint)
        #expect(await pingError(client) == .connectFailed(.connectionRefused))
        #expect(await pingError(client) == .connectFailed(.connectionRefused))
        let nowhere = try AssayClient(address: .unix(path: "/tmp/assay-no-such.sock"))
        #expect(await pingError(nowhere) == .connectFailed(.notFound))
        await #expect(throws: ClientError.connectFailed(.notFound)) {
            try await AssayClient.connect(to: nowhere.address)
        }
    }

    @Test(.enabled(if: TimedTests.areEnabled))
    func waitsForAServerThatStartsLater() async throws {
        // A TCP port that is free now can be another test's server a moment later.
        let endpoint = Endpoint.unix(path: "/tmp/assay-later-\(getpid()).sock")
        let client = try AssayClient(
            address: endpoint,
            options: ClientOptions(timeout: .seconds(30), waitsForServer: true))
        let waiting = Task { await pingError(client) }
        try await Task.sleep(for: .milliseconds(150))
        let server = try FakeServer(at: endpoint) { peer, head, _ in peer.pong(head.id) }
        #expect(await waiting.value == nil)
        client.close()
        server.stop()
    }

    @Test func aDrainAnswersPendingCalls() async throws {
        try await withServer(.longTimeoutNoRetry) { peer, head, _ in
            guard peer.number == 1 else { return peer.pong(head.id) }
            peer.kept.append(head.id)
            guard peer.kept.count == 10 else { return }
            // The answer shows that the notice, which comes before it, has arrived.
            peer.answer(ResponseHead(id: 0, status: .unavailable, message: "draining"))
            peer.pong(peer.kept.removeLast())
        } _: { server, client in
            await withTaskGroup { group in
                for _ in 0..<10 { group.addTask { await pingError(client) } }
                #expect(await group.next() == .some(nil))
                #expect(await pingError(client) == nil)
                #expect(server.connectionCount == 2)
                server.forEachPeer { peer in peer.kept.forEach(peer.pong) }
                #expect(await group.allSatisfy { $0 == nil })
            }
        }
    }

    @Test func requestsRefusedByADrainGoElsewhere() async throws {
        try await withServer { peer, head, _ in
            guard peer.number == 1 else { return peer.pong(head.id) }
            peer.kept.append(head.id)
            guard peer.kept.count == 10 else { return }
            peer.answer(ResponseHead(id: 0, status: .unavailable))
            for id in peer.kept { peer.answer(ResponseHead(id: id, status: .unavailable)) }
        } _: { server, client in
            #expect(await pings(10, client).allSatisfy { $0 == nil })
            #expect(server.connectionCount == 2)
        }
    }

    @Test func aConnectionFaultEndsIt() async throws {
        try await withServer { peer, head, _ in
            guard peer.number == 1 else { return peer.pong(head.id) }
            peer.kept.append(head.id)
            guard peer.kept.count == 5 else { return }
            peer.answer(
                ResponseHead(
                    id: 0, status: .resourceExhausted, message: "too many connections",
                    retryAfterMilliseconds: 30))
        } _: { server, client in
            let error = ClientError.status(
                .resourceExhausted, message: "too many connections", retryAfterMilliseconds: 30)
            #expect(await pings(5, client).allSatisfy { $0 == error })
            #expect(await pingError(client) == nil)
            #expect(server.connectionCount == 2)
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct HostileServerTests {
    /// Bytes that are not an answer to any request of the client.
    @Test(
        "line 69: an invalid or unrequested answer ends the connection",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
            [0, 0, 0, 3, 1, 1, 1],
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0],
            [0, 0, 0, 6, 0, 0, 0, 3, 1, 1],
            [0, 0, 0, 6, 0, 0, 0, 2, 0xFF, 0xFF],
            // An answer to a request that was never sent: id 1000.
            [0, 0, 0, 7, 0, 0, 0, 3, 0x08, 0xE8, 0x07],
        ] as [[UInt8]])
    func garbageEndsTheConnection(bytes: [UInt8]) async throws {
        try await withServer { peer, head, _ in
            if peer.number == 1 { peer.write(bytes) } else { peer.pong(head.id) }
        } _: { _, client in
            let error = await pingError(client)
            guard error?.reason == .protocolViolation else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(await pingError(client) == nil)
        }
    }

    @Test(
        "a peer of another protocol is named",
        arguments: [
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), "this is HTTP: the port of --listen"),
            (Array("HTTP".utf8), "a client needs that of --listen tcp://, tls:// or unix:"),
            ([21, 3, 3, 0, 2, 2, 40], "this is TLS: write tls://HOST:PORT as the address"),
            (Array("HTTQ".utf8), "a frame of 1213486161 bytes is above the limit"),
        ] as [([UInt8], String)])
    func otherProtocolsAreNamed(bytes: [UInt8], text: String) async throws {
        try await withServer { peer, _, _ in
            peer.write(bytes)
        } _: { _, client in
            let error = try #require(await pingError(client))
            guard error.reason == .protocolViolation else {
                Issue.record("\(error)")
                return
            }
            #expect(error.description.contains(text), "\(error)")
        }
    }

    @Test func anAnswerToAnotherCallIsRefused() async throws {
        try await withServer { peer, head, _ in
            peer.answer(ResponseHead(id: head.id, result: .health(serving: true)))
        } _: { _, client in
            guard await pingError(client)?.reason == .protocolViolation else {
                Issue.record("mistaken for a pong")
                return
            }
        }
    }

    @Test func splitAnswersAreReassembled() async throws {
        let body = [UInt8]("{\"payload\":{}}".utf8)
        let requests = 3
        let torn = Locked<(bytes: [UInt8], answers: Int, isOver: Bool)>(([], 0, false))
        let writer = try WorkerPool(count: 1, name: "torn answers")
        defer {
            torn.withLock { $0.isOver = true }
            writer.stop()
        }
        try await withServer { peer, head, _ in
            let verification = Verification(verdict: .mismatch, detail: "torn")
            let answer = ResponseHead(id: head.id, result: .verification(verification))
            torn.withLock {
                $0.bytes += peer.frame(answer, body: body)
                $0.answers += 1
            }
        } _: { server, client in
            // On a thread of its own: tasks wait for their turn after each byte, and all tests
            // share their threads.
            writer.submit {
                var sent = 0
                while true {
                    let (bytes, answers, isOver) = torn.withLock { $0 }
                    if isOver || sent == bytes.count && answers == requests { break }
                    if sent < bytes.count {
                        let byte = bytes[sent]
                        server.forEachPeer { $0.write([byte]) }
                        sent += 1
                    }
                    usleep(1_000)
                }
            }
            let answers = Task {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<requests {
                        group.addTask {
                            try await client.verify(
                                [1], VerifyCall(kind: .transaction), timeout: .seconds(30))
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            for answer in try await answers.value {
                #expect(answer.payloadJSON == body && answer.verification.detail == "torn")
            }
        }
    }
}
