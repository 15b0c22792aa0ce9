import AssayLocks
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Several workers that serve as one server, simulated.
@Suite struct WorkerTests {
    /// Sends as many genuine tokens, and receives their answers.
    private func ask(
        _ count: Int, _ client: SimulatedFrameClient, of simulated: SimulatedServer
    ) {
        let before = client.answered
        for _ in 0..<count { client.ask(.genuine) }
        simulated.runUntilIdle()
        #expect(client.receive(upTo: .max) == nil)
        #expect(client.answered == before + count && client.unanswered == 0)
    }

    @Test("Connections are divided among the workers, and a closed one makes space")
    func connections() throws {
        let simulated = try SimulatedServer { $0.workers = 4 }
        let peers = (0..<8).map { _ in simulated.connect() }
        simulated.runUntilIdle()
        #expect(simulated.connectionsOfWorkers == [2, 2, 2, 2])
        for peer in peers.prefix(2) { peer.reset() }
        simulated.runUntilIdle()
        _ = (0..<2).map { _ in simulated.connect() }
        simulated.runUntilIdle()
        #expect(simulated.connectionsOfWorkers == [2, 2, 2, 2])
    }

    @Test("The tokens of one connection are verified by all workers, an even load by its own")
    func share() throws {
        let simulated = try SimulatedServer { $0.workers = 4 }
        let one = try simulated.frameClient()
        // The chain gets known, and the workers idle.
        ask(1, one, of: simulated)
        simulated.pass(milliseconds: 200)
        simulated.slices = [:]
        ask(1, one, of: simulated)
        #expect(simulated.slices.count == 1, "a lone request stays where it is")
        ask(63, one, of: simulated)
        #expect(simulated.slices.count == 1, "one slice stays where it is")
        simulated.slices = [:]
        for _ in 0..<10 { ask(250, one, of: simulated) }
        #expect(simulated.slices.keys.filter { $0 > 0 }.count == 4, "\(simulated.slices)")
    }

    @Test("However many requests of another connection wait, a socket waits for one slice")
    func readsBetweenSlices() throws {
        let simulated = try SimulatedServer(sliceNanoseconds: 600_000) { $0.workers = 1 }
        let (busy, other) = (try simulated.frameClient(), try simulated.frameClient())
        ask(1, busy, of: simulated)
        ask(1, other, of: simulated)
        for _ in 0..<800 { busy.ask(.genuine) }
        var mostSlices = 0
        while busy.answered < 600 {
            #expect(simulated.step())
            let before = simulated.slices.values.reduce(0, +)
            other.ask(.ping)
            while other.unanswered > 0 {
                #expect(simulated.step())
                #expect(other.receive(upTo: .max) == nil)
            }
            mostSlices = max(mostSlices, simulated.slices.values.reduce(0, +) - before)
            #expect(busy.receive(upTo: .max) == nil)
        }
        // One before the socket is read, and one before the answer is written.
        #expect(mostSlices <= 2)
    }

    /// Line 80 of the hostile inputs: calls whose answers are long, and calls that cost little.
    @Test(
        "A token does not wait for what many connections ask",
        arguments: [(RequestHead.Call.info, 3, 100), (.ping, 64, 4_096)])
    func takesTurns(call: RequestHead.Call, each: Int, inTurn most: Int) throws {
        let simulated = try SimulatedServer { $0.workers = 1 }
        let peers = (0..<300).map { _ in simulated.connect() }
        let other = try simulated.frameClient()
        ask(1, other, of: simulated)
        let before = simulated.metrics.answersSent
        let frame = RawClient.frame(RequestHead(id: 1, call: call))
        for peer in peers { peer.send(Array(repeatElement(frame, count: each).joined())) }
        other.ask(.genuine)
        while other.unanswered > 0 {
            // What all connections together get in a turn takes about as long.
            simulated.world.pass(milliseconds: 1)
            #expect(simulated.step())
            #expect(other.receive(upTo: .max) == nil)
        }
        #expect(simulated.metrics.answersSent - before < UInt64(most))
        let all = UInt64(peers.count * each)
        simulated.runUntilIdle()
        #expect(simulated.metrics.answersSent - before == all + 1)
    }

    @Test("A frame that lay behind others in the server's buffer has its time from its turn on")
    func paceOfWaitingFrame() throws {
        let simulated = try SimulatedServer { $0.workers = 1 }
        let peer = simulated.connect()
        let token = try Minted.transaction.get()
        let frame = RawClient.verify(1, .transaction, token)
        let ping = RawClient.frame(RequestHead(id: 9, call: .ping))
        let turns = 20
        let pings = repeatElement(ping, count: turns * ServerLimits().framesPerTurn).joined()
        peer.send(Array(pings) + frame.prefix(100))
        // The other connections take as long in each turn.
        for _ in 0...turns {
            simulated.world.pass(milliseconds: 400)
            simulated.step()
        }
        simulated.pass(milliseconds: 2_000)
        #expect(simulated.metrics.faults.isEmpty && !peer.isAtEnd)
        peer.send(Array(frame.dropFirst(100)))
        simulated.runUntilIdle()
        #expect(simulated.metrics.handled(.verify, .ok) == 1)
    }

    @Test("Locks are taken for a read and for a slice, and none for a token")
    func locksOfTokens() throws {
        let simulated = try SimulatedServer { $0.workers = 1 }
        let client = try simulated.frameClient()
        for _ in 0..<3 { ask(250, client, of: simulated) }
        for _ in 0..<250 { client.ask(.genuine) }
        let before = LockCount.ofThisThread
        simulated.runUntilIdle()
        let locks = LockCount.ofThisThread - before
        #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        // The simulation itself takes some around each turn and slice.
        #expect(locks > 0 && locks < 250, "\(locks)")
    }

    @Test("What one worker has freed, the others can hold at once")
    func freedMemory() throws {
        let simulated = try SimulatedServer {
            $0.workers = 4
            $0.limits.evidenceBytes = 8 << 20
        }
        // All receipts together get half of the limit: two of these do not fit.
        let evidence = try SimulatedEvidence(
            genuine: [], forged: [], foreign: [], receipt: Minted.receipt(bytes: 2_500_000))
        let clients = (0..<8).map { _ in SimulatedFrameClient(simulated.connect(), evidence) }
        for (number, client) in clients.enumerated() {
            client.ask(.receipt)
            // No time passes: no timer looks at what can be given back.
            simulated.runUntilIdle()
            #expect(client.receive(upTo: .max) == nil)
            #expect(client.lastStatus == .ok, "receipt \(number)")
        }
        #expect(simulated.connectionsOfWorkers == [2, 2, 2, 2])
        let (borrowed, limit) = simulated.borrowed
        #expect(borrowed <= limit / 8, "\(borrowed) bytes are kept for nothing")
    }

    @Test("A drain ends when every worker has answered what it accepted")
    func drain() throws {
        let simulated = try SimulatedServer { $0.workers = 3 }
        let clients = try (0..<6).map { _ in try simulated.frameClient() }
        simulated.runUntilIdle()
        for client in clients { for _ in 0..<20 { client.ask(.genuine) } }
        simulated.drain()
        simulated.pass(milliseconds: 500)
        for client in clients {
            #expect(client.receive(upTo: .max) == nil)
            #expect(client.unanswered == 0 && client.peer.isAtEnd)
            client.peer.finish()
        }
        simulated.pass(milliseconds: 200)
        #expect(simulated.hasEnded)
    }

    @Test("A reload reaches every worker: each refuses an app that was removed")
    func reload() throws {
        let simulated = try SimulatedServer { $0.workers = 3 }
        let clients = try (0..<3).map { _ in try simulated.frameClient() }
        for client in clients { ask(1, client, of: simulated) }
        var configuration: ServerConfiguration = simulated.configuration
        configuration.apps = ["other": configuration.apps["game"]!]
        configuration.defaultApp = "other"
        simulated.reload(configuration)
        for client in clients {
            client.ask(.namedApp)
            simulated.runUntilIdle()
            #expect(client.receive(upTo: .max) == nil)
            #expect(client.lastStatus == .notFound)
        }
    }

    @Test("A server that nobody refers to serves on")
    func dropped() throws {
        let simulated = try SimulatedServer { $0.workers = 2 }
        let client = try simulated.frameClient()
        simulated.dropSupervisor()
        // Its timers run.
        simulated.pass(milliseconds: 500)
        ask(1, client, of: simulated)
        let late = try simulated.frameClient()
        ask(1, late, of: simulated)
    }

    @Test("Metrics and held resources are those of all workers")
    func sums() throws {
        let simulated = try SimulatedServer { $0.workers = 3 }
        let clients = try (0..<6).map { _ in try simulated.frameClient() }
        for client in clients { ask(5, client, of: simulated) }
        #expect(simulated.heldResources.connections == 6)
        #expect(simulated.metrics.handled(.verify, .ok) == 30)
        #expect(simulated.metrics.verdictsByApp.map(\.counts.total) == [30])
        #expect(simulated.metrics.connectionsAccepted == 6)
    }
}
