import Testing

@testable import AssayIO
@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// In which order handshakes are continued, and which is closed for another one.
@Suite("Handshakes of clients") struct HandshakeTests {
    /// Handshakes on a simulated loop, of connections whose ClientHello has arrived.
    private final class Loop {
        let thread: SimulatedThread
        let handshakes: Handshakes
        /// The clients whose handshakes have begun, in order.
        private(set) var begun: [PeerKey] = []
        private let world = SimulatedWorld(seed: 1)
        private let hello: [UInt8]

        init(most: Int) throws {
            let pki = try TestPKI()
            thread = SimulatedThread(0, world)
            handshakes = Handshakes(try pki.server(ofClients: false), most: most, percent: 100) {
                _ in
            }
            var client = try TLSSession(pki.client(), host: "localhost")
            _ = client.handshake()
            hello = client.takeCiphertext()
            handshakes.onMemory = { [unowned self] stream, isHeld in
                if isHeld { begun.append(stream.peer) }
            }
        }

        func connect(_ user: UInt32, sends: Bool = true) throws -> AssayIO.Stream {
            let wire = SimulatedWire(from: .user(user))
            if sends { wire.arrived = hello }
            return try thread.run { () throws(LoopError) in
                let stream = Stream(
                    SimulatedSocket(wire, thread.driver, world), on: thread.loop)
                handshakes.begin(stream)
                return stream
            }
        }

        func work() throws {
            while thread.driver.isReady { thread.driver.turn(of: thread.loop) }
            try thread.run { () throws(LoopError) in
                while handshakes.work(now: thread.loop.now, isHurried: true) {}
            }
        }
    }

    @Test("line 277: handshakes of one client delay those of another by one each")
    func clients() throws {
        let loop = try Loop(most: 100)
        for user in [UInt32](repeating: 1, count: 20) + [2, 2] { _ = try loop.connect(user) }
        try loop.work()
        #expect(loop.begun.count == 22)
        #expect(loop.begun.prefix(4) == [.user(1), .user(2), .user(1), .user(2)])
        try loop.thread.run { () throws(LoopError) in loop.handshakes.closeAll() }
        #expect(loop.handshakes.count == 0)
    }

    @Test("line 277: silent handshakes of the client with the most are closed for others")
    func silent() throws {
        let loop = try Loop(most: 4)
        let other = try loop.connect(2, sends: false)
        let many = try (0..<8).map { _ in try loop.connect(1, sends: false) }
        #expect(!other.isClosing)
        // The oldest of the client with the most.
        #expect(many.map(\.isClosing) == [true, true, true, true, true, false, false, false])
        try loop.thread.run { () throws(LoopError) in loop.handshakes.closeAll() }
    }
}
