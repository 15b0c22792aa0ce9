import AssayModels

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// The life of a server from its start to its end, as a seed decides it: clients of all protocols
/// that ask, are slow, give requests up, break off and send nonsense; an App Store; time; reloads;
/// the drain. After each event, it checks what has to hold at all times.
final class RandomLife {
    private let simulated: SimulatedServer
    private let evidence: SimulatedEvidence
    private let ledger = MemoryLedger()
    private var clients: [any SimulatedClient] = []
    private(set) var asked = 0
    private(set) var answered = 0
    private var configuration: ServerConfiguration!
    /// What is wrong; nil if nothing was found.
    private(set) var problem: String?
    private var hasDrained = false

    private static let events = 120
    private static let mostClients = 6
    private static let unaskedBytes = 512 << 10

    init(seed: UInt64) throws {
        evidence = try SimulatedEvidence.all.get()
        var kept: ServerConfiguration?
        simulated = try SimulatedServer(seed: seed) { configuration in
            configuration.workers = 1 + Int(seed % 4)
            // Small limits, so that a short life reaches them.
            configuration.limits.requestsInFlight = 8
            configuration.limits.streamedReceiptBytes = 8 << 10
            configuration.limits.evidenceBytes = 512 << 10
            configuration.limits.outputBytes = 16 << 10
            configuration.limits.connections = 4
            configuration.limits.unknownChainsWaiting = 2
            configuration.limits.unknownChainsPerSecond = 20
            configuration.limits.fetches = 3
            configuration.ask(SimulatedStore.makeFetcher())
            kept = configuration
        }
        configuration = kept
    }

    private var world: SimulatedWorld { simulated.world }

    func live() {
        for _ in 0..<Self.events where problem == nil {
            happen()
            check()
        }
        if problem == nil { end() }
    }

    // MARK: Events

    private func happen() {
        switch world.number(below: 44) {
        case 0..<3: connect()
        case 3..<15: withClient { ask($0) }
        case 15..<25: simulated.step()
        case 25..<30: withClient { receive($0, upTo: 1 + world.number(below: 4_000)) }
        case 30: withClient { $0.peer.finish() }
        case 31: withClient { $0.peer.reset() }
        case 32: withClient { sendPart($0) }
        case 33: simulated.pass(milliseconds: UInt64(world.number(below: 300)))
        case 34 where world.happens(onceIn: 4):
            simulated.pass(milliseconds: UInt64(world.number(below: 12_000)))
        case 35 where world.happens(onceIn: 4): reload()
        case 36 where world.happens(onceIn: 30): drain()
        case 37: simulated.runUntilIdle()
        case 38..<40: withClient { $0.goOn() }
        case 40..<42: withClient { $0.giveUp() }
        default: simulated.step()
        }
    }

    private func connect() {
        guard clients.count < Self.mostClients else { return }
        let client: any SimulatedClient =
            switch world.number(below: 4) {
            case 0: SimulatedFrameClient(simulated.connect(), evidence)
            case 1: SimulatedHTTPClient(simulated.connect(to: SimulatedServer.http), evidence)
            default: SimulatedHTTP2Client(simulated, evidence)
            }
        clients.append(client)
    }

    private func withClient(_ action: (any SimulatedClient) -> Void) {
        guard !clients.isEmpty else { return }
        action(clients[world.number(below: clients.count)])
    }

    private func ask(_ client: any SimulatedClient) {
        guard !client.peer.hasEnded, !broken.contains(ObjectIdentifier(client)) else { return }
        let all = SimulatedQuestion.allCases
        let before = client.unanswered
        // Mostly what honest clients ask, in bursts that reach the limits.
        for _ in 0...world.number(below: 12) {
            client.ask(world.happens(onceIn: 2) ? .genuine : all[world.number(below: all.count)])
        }
        asked += client.unanswered - before
    }

    /// Clients that have sent bytes which begin no request, or a part of one.
    private var broken: Set<ObjectIdentifier> = []

    private func sendPart(_ client: any SimulatedClient) {
        guard world.happens(onceIn: 3) else { return }
        broken.insert(ObjectIdentifier(client))
        let length = 1 + world.number(below: 40)
        client.peer.send((0..<length).map { _ in UInt8(world.number(below: 256)) })
    }

    private func receive(_ client: any SimulatedClient, upTo limit: Int) {
        let before = client.answered
        if let wrong = client.receive(upTo: limit), !broken.contains(ObjectIdentifier(client)) {
            problem = wrong
        }
        answered += client.answered - before
    }

    private func reload() {
        configuration.limits.requestsInFlight = 4 + world.number(below: 8)
        configuration.limits.evidenceBytes = (256 + world.number(below: 512)) << 10
        configuration.limits.connections = 2 + world.number(below: 4)
        simulated.reload(configuration)
    }

    private func drain() {
        hasDrained = true
        simulated.drain()
    }

    // MARK: What holds at all times

    private func check() {
        let held = simulated.heldResources
        let limits = simulated.limits
        if held.connections > simulated.socketCount {
            problem = "more connections than sockets: \(held)"
        }
        let (borrowed, limit) = simulated.borrowed
        if borrowed < held.heldBytes {
            problem = "\(borrowed) bytes are borrowed, more are held: \(held)"
        }
        // What has arrived before it could be refused, or was encoded, comes on top.
        if borrowed > limit + Self.unaskedBytes {
            problem = "\(borrowed) bytes are borrowed of \(limit)"
        }
        if held.evidenceBytes < 0 || held.bufferedBytes < 0 || held.heldBytes < 0 {
            problem = "negative memory: \(held)"
        }
        if held.requestsInFlight > held.connections * max(limits.requestsInFlight, 12) {
            problem = "more requests in flight than the limits admit: \(held)"
        }
        if let wrong = ledger.problem(of: simulated) { problem = wrong }
        // Work for a client that has left ends with its slice.
        if held.requestsInFlight == 0, held.evidenceBytes > 0, simulated.isIdle {
            problem = "evidence without a request: \(held)"
        }
    }

    // MARK: The end

    /// Every client receives what it is owed and leaves; then nothing is held, and the server ends.
    private func end() {
        for _ in 0..<400 where problem == nil && owed > 0 {
            simulated.pass(milliseconds: 100)
            for client in clients {
                client.goOn()
                receive(client, upTo: .max)
                // Leaves, so that those who wait to be accepted are served.
                if !owes(client) { client.peer.finish() }
            }
            check()
        }
        guard problem == nil else { return }
        for client in clients where owes(client) {
            problem = "\(client.unanswered) requests were never answered"
        }
        for client in clients { client.peer.reset() }
        simulated.pass(milliseconds: 15_000)
        guard problem == nil else { return }
        var held = simulated.heldResources
        held.turns = 0
        if held != .none { problem = "held without a client: \(held)" }
        if simulated.socketCount > 0 { problem = "a socket was never closed" }
        if problem == nil, simulated.borrowed.bytes != 0 {
            problem = "\(simulated.borrowed.bytes) bytes are borrowed without a client"
        }
        if !hasDrained { drain() }
        simulated.pass(milliseconds: 1_000)
        if problem == nil, !simulated.hasEnded { problem = "the drain does not end" }
    }

    private var owed: Int { clients.count(where: owes) }

    /// Whether the server owes the client an answer.
    private func owes(_ client: any SimulatedClient) -> Bool {
        client.unanswered > 0 && !client.peer.hasReset && !client.hasFinalAnswer
            && !client.peer.isAtEnd && !broken.contains(ObjectIdentifier(client))
    }
}
