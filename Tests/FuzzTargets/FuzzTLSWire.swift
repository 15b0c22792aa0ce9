import AssayIO

/// One TLS peer in memory.
final class TLSPeer {
    private var session: TLSSession
    private(set) var isOpen = false
    private var isOver = false
    private(set) var heard: [UInt8] = []

    init(_ context: TLSContext) {
        do throws(TLSError) {
            session = try TLSSession(context, host: nil)
        } catch {
            preconditionFailure("no session: \(error)")
        }
    }

    /// Advances as far as the received bytes allow; returns the plaintext that it read.
    func advance() -> [UInt8] {
        guard !isOver else { return [] }
        if !isOpen {
            switch session.handshake() {
            case .bytes: isOpen = true
            case .needMore: return []
            case .ended, .failed: isOver = true
            }
        }
        var read: [UInt8] = []
        while isOpen, !isOver {
            switch session.read(upTo: 1000, into: &read) {
            case .bytes: continue
            case .needMore:
                session.compact()
                heard += read
                return read
            case .ended, .failed: isOver = true
            }
        }
        heard += read
        return read
    }

    /// Sends plaintext; returns false while there is no open session.
    func say(_ bytes: [UInt8]) -> Bool {
        guard isOpen, !isOver else { return false }
        if case .failed = session.write(bytes.span) { isOver = true }
        return true
    }

    func feed(_ bytes: Span<UInt8>) { session.feed(bytes) }
    func takeCiphertext() -> [UInt8] { session.takeCiphertext() }
}

/// Two TLS peers in memory and the wire between them.
struct TLSWire {
    private let script: TLSScript
    private let server: TLSPeer
    private let client: TLSPeer
    private var flights = 0

    init(_ script: TLSScript, server: TLSContext, client: TLSContext) {
        self.script = script
        self.server = TLSPeer(server)
        self.client = TLSPeer(client)
    }

    /// The plaintext that the server read, and the echo that the client read.
    var heard: [UInt8] { server.heard }
    var echoed: [UInt8] { client.heard }

    /// Runs until neither side has anything to send.
    mutating func run() {
        var sayings = script.sayings[...]
        while true {
            _ = client.advance()
            if let saying = sayings.first, client.say(saying) { sayings.removeFirst() }
            let toServer = flight(client.takeCiphertext())
            for part in script.parts(toServer) {
                server.feed(part.span)
                let read = server.advance()
                if !read.isEmpty { _ = server.say(read) }
            }
            let toClient = flight(server.takeCiphertext())
            for part in script.parts(toClient) {
                client.feed(part.span)
                _ = client.advance()
            }
            if toServer.isEmpty, toClient.isEmpty { return }
        }
    }

    private mutating func flight(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        defer { flights += 1 }
        return script.changed(bytes, flight: flights)
    }
}

/// Checks a sequence of TLS records (RFC 8446, 5.1).
enum TLSRecord {
    static func check(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let head = Array(rest.prefix(5))
            precondition(head.count == 5 && (20...23).contains(head[0]), "a record of no type")
            // OpenSSL's alerts to a peer that sent no version carry 0.0.
            precondition(head[1] == 3 || head[0] == 21, "a record of no version")
            let length = Int(head[3]) << 8 | Int(head[4])
            precondition(length > 0 && length <= 16_384 + 256, "a record of \(length) bytes")
            precondition(rest.count >= 5 + length, "a record that is cut short")
            rest = rest.dropFirst(5 + length)
        }
    }
}
