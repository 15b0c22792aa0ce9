import Assay
import AssayClient
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import Glibc
import TestSupport
import Testing

@testable import AssayLoad

/// A server in this process, and evidence for it.
struct Target {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)

    let server: Server
    let pool: EvidencePool

    /// - Parameters:
    ///   - isForeign: the server trusts another CA than the one that signs.
    ///   - stores: the kinds that keys of other stores sign.
    init(
        isForeign: Bool = false, stores kinds: [EvidenceKind] = [],
        change: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        let ca = try DevelopmentCA.make(at: Self.now)
        let receipts = try ReceiptCA.make(at: Self.now)
        let trusted = isForeign ? try DevelopmentCA.make(at: Self.now) : ca
        let trust = try TrustStore.apple
            .pinning(trusted.rootCertificate, development: true)
            .pinning(receipts.rootCertificate, development: true)
            .pinningHarmony(trusted.rootCertificate)
        var policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        var stores: [EvidenceKind: StoreMinter] = [:]
        for kind in kinds {
            let minter = try StoreMinter()
            stores[kind] = minter
            try policy.accept(minter, of: kind)
        }
        let app = AppEntry(verifier: Verifier(trust: trust, keyTables: .never), policy: policy)
        var configuration = ServerConfiguration(
            listen: [
                .unix(path: temporaryPath("load")), .unixHTTP(path: temporaryPath("http")),
            ], apps: ["game": app], defaultApp: "game",
            workers: 2, log: NoLog(), clock: { Self.now })
        configuration.limits.drainQuietMilliseconds = 20
        // Work of other tests on the machine is no overload here.
        configuration.limits.queueDelayMilliseconds = 600_000
        change(&configuration)
        server = try Server(configuration)
        pool = try EvidencePool(
            ca, receipts: receipts, stores: stores, bundleId: "com.example.game", appAppleId: 1,
            environment: .sandbox, at: Self.now)
    }

    private struct NoLog: LogSink {
        func write(_ line: String) {}
    }

    func settings(_ pace: Pace, seconds: Double = 1, connections: Int = 2, threads: Int = 1)
        -> LoadSettings
    {
        LoadSettings(
            endpoint: server.endpoints[0], pace: pace, connections: connections, depth: 4,
            threads: threads, duration: .seconds(seconds), warmUp: .milliseconds(100),
            timeout: .seconds(20))
    }

    func stop() {
        server.drain()
        server.wait()
    }
}

extension Policy {
    /// Accepts what a key signs as a kind.
    fileprivate mutating func accept(_ minter: StoreMinter, of kind: EvidenceKind) throws {
        switch (kind.format, kind.store) {
        case (.push, _):
            googlePush = PushPolicy(
                keys: try PushKeys(minter.jwks), audiences: [PushClaims.sampleAudience],
                serviceAccounts: [PushClaims.sampleServiceAccount])
        case (_, .google): google.keys.append(try PurchaseKey(minter.publicKey))
        default: huawei.keys.append(try PurchaseKey(minter.publicKey))
        }
    }
}

/// Returns a path that no other test uses.
func temporaryPath(_ name: String) -> String {
    "/tmp/assay-test-\(getpid())-\(UInt32.random(in: 0 ... .max))-\(name)"
}

/// A flag for closures that outlive a test's frame.
final class Flag: Sendable {
    let flag = Interruption()
}

@Suite("Load, end to end", .serialized)
struct EndToEndTests {
    @Test("genuine and forged evidence, and unknown chains: each request counts once, as correct")
    func mix() async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 60, try target.pool.genuine(.transaction, count: 8)),
            LoadGroup("notification", weight: 10, try target.pool.genuine(.notification, count: 2)),
            LoadGroup(
                "receipt", weight: 10,
                try target.pool.genuine(.appReceipt, size: 8 << 10, count: 2)),
            LoadGroup(
                "forged receipt", weight: 5,
                try target.pool.forged(.appReceipt, size: 8 << 10, count: 2)),
            LoadGroup("forged", weight: 10, try target.pool.forged(.transaction, count: 4)),
            LoadGroup("resolve", weight: 5, try target.pool.resolves(ofItems: 20, count: 2)),
            LoadGroup(
                "forged resolve", weight: 5,
                try target.pool.resolves(ofItems: 5, isForged: true, count: 2)),
            LoadGroup(
                "unknown chains", weight: 5,
                try target.pool.unknownChains(.renewalInfo, count: 16)),
        ]
        let settings = target.settings(.open(rate: 200, .constant), threads: 2)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        // One request every 5 ms. Those of one second count.
        #expect(result.counts == Counts(sent: 200, correct: 200), "\(result.summary)")
        #expect(result.isClean && result.unanswered == 0)
        #expect(result.latencies.totalCount == 200)
        #expect(result.groups.allSatisfy { $0.counts.sent == $0.counts.correct })
        #expect(result.groups.map(\.counts.sent).reduce(0, +) == 200)
        #expect(result.groups.allSatisfy { $0.counts.sent > 0 }, "\(result.summary)")
        #expect(!result.moments.isEmpty && !result.wasInterrupted)
    }

    @Test(
        "pipelined Poisson arrivals reach about the rate",
        .enabled(if: TimedTests.areEnabled)
    )
    func poisson() async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let settings = target.settings(.open(rate: 400, .poisson), connections: 1)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        // Five standard deviations of a Poisson count.
        #expect(abs(result.counts.sent - 400) < 100)
        #expect(result.counts.correct == result.counts.sent, "\(result.summary)")
    }

    @Test("a server that trusts another root gives only wrong verdicts")
    func wrong() async throws {
        let target = try Target(isForeign: true)
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let settings = target.settings(.open(rate: 100, .constant), seconds: 0.5)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts == Counts(sent: 50, wrong: 50))
        #expect(result.throughput == 0 && !result.isClean)
        #expect(result.latencies.totalCount == 0)
        let complaint = try #require(result.complaints.first)
        #expect(complaint.count == 50)
        #expect(complaint.what.hasPrefix("UNTRUSTED_CHAIN where VALID was expected"))
    }

    @Test("a closed loop keeps its depth on all connections and threads")
    func closed() async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 8))
        ]
        let settings = target.settings(.closed, seconds: 3, connections: 3, threads: 2)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts.correct > 12, "more than one turn of 3 connections and depth 4")
        #expect(result.isClean, "\(result.summary)")
        #expect(result.lateReason == nil)
    }

    @Test(
        "the first requests of a closed loop are measured",
        .enabled(if: TimedTests.areEnabled)
    )
    func firstRequests() async throws {
        // No answer, and so no further request, before the end of the measurement.
        let target = try Target {
            $0.clock = {
                usleep(1_500_000)
                return Target.now
            }
        }
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        var settings = target.settings(.closed)
        settings.warmUp = .zero
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts.sent == 8 && result.isClean, "\(result.summary)")
    }

    @Test("requests refused by a limit are counted separately and not retried at once")
    func refused() async throws {
        let target = try Target { $0.limits.evidenceBytes = 1 }
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        let settings = target.settings(.closed, seconds: 2, connections: 2)
        let result = try await LoadRun(settings, groups).run(Flag().flag)
        #expect(result.counts.refused > 0 && result.counts.refused == result.counts.sent)
        #expect(result.counts.errors == 0 && result.counts.correct == 0)
        // 8 in flight, and ten times a second at most.
        #expect(result.counts.sent <= 8 * 22)
        #expect(result.complaints.first?.what.hasPrefix("RESOURCE_EXHAUSTED") == true)
    }

    @Test("an interrupted run returns the results so far")
    func interrupted() async throws {
        let target = try Target()
        defer { target.stop() }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let interruption = Flag()
        let settings = target.settings(.open(rate: 100, .constant), seconds: 600)
        // Once: a second interruption, a second later, would not wait for outstanding answers.
        let run = LoadRun(settings, groups) { _ in
            if !interruption.flag.isSet { interruption.flag.set() }
        }
        let result = try await run.run(interruption.flag)
        #expect(result.wasInterrupted)
        #expect(result.counts.sent > 0 && result.isClean, "\(result.summary)")
        #expect(result.lateReason?.contains("instead of") != true, "measured until then")
        #expect(result.summary.contains("interrupted"))
    }

    @Test("a second interruption ends a run without its outstanding answers")
    func interruptedTwice() async throws {
        let (stalls, released) = (Flag(), Latch())
        let target = try Target {
            $0.clock = {
                if stalls.flag.isSet { released.wait() }
                return Target.now
            }
        }
        defer {
            released.open()
            target.stop()
        }
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        let interruption = Flag()
        let settings = target.settings(.open(rate: 100, .constant), seconds: 600)
        // The server stops to answer a second before the first interruption.
        let run = LoadRun(settings, groups) { _ in
            if stalls.flag.isSet { interruption.flag.set() } else { stalls.flag.set() }
        }
        let result = try await run.run(interruption.flag)
        #expect(result.wasInterrupted && !result.isClean)
        #expect(result.counts.correct > 0 && result.unanswered > 0, "\(result.summary)")
        #expect(result.counts.errors == 0, "no request was waited for until its timeout")
    }

    @Test("a run ends with errors when the server disconnects")
    func gone() async throws {
        let target = try Target()
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 4))
        ]
        // The server drains after its first answer, which can take seconds on a busy machine.
        let settings = target.settings(.open(rate: 100, .constant), seconds: 5)
        let server = target.server
        let run = LoadRun(settings, groups) { moment in
            if !moment.isWarmUp, moment.counts.correct > 0 { server.drain() }
        }
        let result = try await run.run(Flag().flag)
        server.wait()
        #expect(result.counts.correct > 0 && result.counts.errors > 0, "\(result.summary)")
        #expect(result.counts.answered == result.counts.sent && !result.isClean)
    }

    @Test("a run without a server fails")
    func unreachable() async throws {
        let target = try Target()
        defer { target.stop() }
        var settings = target.settings(.closed)
        settings.endpoint = .unix(path: temporaryPath("nobody"))
        let groups = [
            LoadGroup("transaction", weight: 1, try target.pool.genuine(.transaction, count: 1))
        ]
        do throws(LoadError) {
            _ = try await LoadRun(settings, groups).run(Flag().flag)
            Issue.record("it ran")
        } catch {
            guard case .notReached(let cause) = error, cause.reason == .connectFailed else {
                Issue.record("\(error)")
                return
            }
        }
    }
}
