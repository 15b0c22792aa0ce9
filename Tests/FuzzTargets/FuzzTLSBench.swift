import Assay
import AssayBytes
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import TestSupport

/// Keys, certificates, and a TLS server that echoes; made with the first input. The certificates
/// are valid now, unlike the stored authority's, because OpenSSL uses the machine's clock.
final class TLSBench: Sendable {
    private struct Contexts: Sendable {
        var server: TLSContext
        var serverThatAsks: TLSContext
        var client: TLSContext
        var clientThatShows: TLSContext
    }
    private let made = Locked<Contexts?>(nil)
    private let servers = Locked<[Bool: EchoServer]>([:])

    /// The common name of the signing certificate, which also serves as the TLS certificate.
    private static let name = "Assay Development App Store Evidence Signing"

    private var contexts: Contexts {
        made.withLock { made in
            if let made { return made }
            do {
                let new = try Self.make()
                made = new
                return new
            } catch {
                preconditionFailure("no TLS: \(error)")
            }
        }
    }

    private static func make() throws -> Contexts {
        let now = Timestamp(milliseconds: SystemClock.wallMilliseconds)
        let folder = try ScratchFolder()
        let files = try DevelopmentCA.make(at: now).files()
        for file in files { try folder.write(file.contents, to: file.name) }
        let chain = ["leaf.pem", "intermediate.pem"].flatMap { name in
            files.first { $0.name == name }?.contents ?? []
        }
        try folder.write(chain, to: "chain.pem")
        let (root, key) = (folder("root.pem"), folder("leaf-key.pem"))
        var server = TLSServerSettings(certificate: folder("chain.pem"), key: key)
        server.allowsTLS12 = true
        var asking = server
        asking.clientAuthority = root
        asking.clientNames = [name]
        asking.allowsTLS12 = false
        var client = TLSClientSettings(authority: root, serverName: name)
        let plain = try TLSContext(client: client)
        (client.certificate, client.key) = (folder("chain.pem"), key)
        return Contexts(
            server: try TLSContext(server: server), serverThatAsks: try TLSContext(server: asking),
            client: plain, clientThatShows: try TLSContext(client: client))
    }

    func server(_ script: TLSScript) -> TLSContext {
        script.asksClient ? contexts.serverThatAsks : contexts.server
    }

    func client(_ script: TLSScript) -> TLSContext {
        script.showsClient ? contexts.clientThatShows : contexts.client
    }

    var clientHello: [UInt8] {
        let client = TLSPeer(contexts.client)
        _ = client.advance()
        return client.takeCiphertext()
    }

    // MARK: Through a socket

    private func echo(asksClient: Bool) -> EchoServer {
        let context = asksClient ? contexts.serverThatAsks : contexts.server
        return servers.withLock { servers in
            if let server = servers[asksClient] { return server }
            do {
                let new = try EchoServer(context)
                servers[asksClient] = new
                return new
            } catch {
                preconditionFailure("no server: \(error)")
            }
        }
    }

    var pendingHandshakes: Int { echo(asksClient: false).pendingHandshakes }

    /// Returns the server's answer to bytes that are no valid handshake.
    func answer(to stream: [UInt8], cuts: [Int]) -> [UInt8] {
        let server = echo(asksClient: false)
        do {
            let client = try BlockingClient(server.endpoint)
            var (position, index) = (0, 0)
            while position < stream.count {
                let end = min(position + cuts[index % cuts.count], stream.count)
                try client.send(Array(stream[position..<end]))
                (position, index) = (end, index + 1)
            }
            client.finishWriting()
            let answer = try client.receiveToEnd()
            precondition(server.securedCount == 0, "who has no keys got in")
            return answer
        } catch {
            preconditionFailure("the server does not answer: \(error)")
        }
    }

    /// Completes a genuine handshake, sends the script's data with its edits, and returns the
    /// echo.
    func throughSocket(_ script: TLSScript) -> [UInt8] {
        let client = TLSPeer(client(script))
        do {
            let socket = try BlockingClient(echo(asksClient: script.asksClient).endpoint)
            try Self.shakeHands(client, socket, script)
            try Self.talk(client, socket, script)
        } catch {
            preconditionFailure("the server does not answer: \(error)")
        }
        return client.heard
    }

    private static func talk(
        _ client: TLSPeer, _ socket: BlockingClient, _ script: TLSScript
    ) throws {
        for (flight, saying) in script.sayings.enumerated() {
            _ = client.say(saying)
            let ciphertext = script.changed(client.takeCiphertext(), flight: flight)
            for part in script.parts(ciphertext) { try socket.send(part) }
        }
        socket.finishWriting()
        let rest = try socket.receiveToEnd()
        client.feed(rest.span)
        _ = client.advance()
    }

    private static func shakeHands(
        _ client: TLSPeer, _ socket: BlockingClient, _ script: TLSScript
    ) throws {
        while true {
            _ = client.advance()
            for part in script.parts(client.takeCiphertext()) { try socket.send(part) }
            if client.isOpen { return }
            let more = try socket.receive(upTo: script.cut)
            precondition(!more.isEmpty, "a genuine handshake is refused")
            client.feed(more.span)
        }
    }
}

/// Completes handshakes as a server and echoes what it receives. Runs until the process ends.
private final class EchoServer: Sendable {
    let endpoint: Endpoint
    private let loop: EventLoop
    private let handshakes = Locked<LoopBound<Handshakes>?>(nil)
    private let secured = Locked(0)
    private let turns = Locked<LoopBound<TurnEnd>?>(nil)

    init(_ context: TLSContext) throws {
        let loop = try EventLoop(name: "echo")
        try loop.start()
        self.loop = loop
        endpoint = try loop.call { [handshakes, secured, turns] () throws(LoopError) in
            let new = Handshakes(context, most: 1000, percent: 100) { outcome in
                switch outcome {
                case .secured(let stream):
                    secured.withLock { $0 += 1 }
                    Self.echo(stream, context)
                case .plain(let stream): Self.end(stream)
                case .failed: break
                }
            }
            handshakes.withLock { $0 = LoopBound(new, to: loop) }
            let turnEnd = try TurnEnd(on: loop) { [unowned loop] in
                while new.work(now: loop.now, isHurried: true) {}
            }
            turns.withLock { $0 = LoopBound(turnEnd, to: loop) }
            let name = "@assay-fuzz-\(SystemClock.monotonicNanoseconds)"
            return try Listener(on: loop, at: .unix(path: name)) { new.begin($0) }.endpoint
        }
    }

    var securedCount: Int { secured.withLock { $0 } }

    var pendingHandshakes: Int {
        let answer = try? loop.call { [handshakes] () throws(LoopError) in
            handshakes.withLock { $0 }?.value.count ?? 0
        }
        return answer ?? 0
    }

    private static func echo(_ stream: Stream, _ context: TLSContext) {
        guard stream.isPeerAllowed(by: context) else { return end(stream) }
        stream.setHandler { [unowned stream] event in
            switch event {
            case .received:
                guard let unread = stream.received.unread else { return }
                let span = unread.span
                let bytes = span.array(0..<span.count)
                stream.received.skip(bytes.count)
                // Pauses now and then, as a busy server does.
                if bytes.count % 3 == 0 { pause(stream) }
                stream.write(bytes)
            case .ended: stream.finish()
            case .failed(.tls): stream.finish()
            case .failed: stream.close()
            case .connected, .written, .closed: break
            }
        }
    }

    private static func pause(_ stream: Stream) {
        stream.pauseReading()
        let bound = LoopBound(stream, to: stream.loop)
        stream.loop.post { if !bound.value.isClosing { bound.value.resumeReading() } }
    }

    private static func end(_ stream: Stream) {
        stream.setHandler { [unowned stream] event in
            if case .failed = event { stream.close() }
        }
        stream.finish()
    }
}
