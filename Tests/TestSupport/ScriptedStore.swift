package import AssayIO

/// An HTTP server on a loop of its own. The test decides its answers, also the broken ones.
package final class ScriptedStore: Sendable {
    package struct Request: Sendable {
        package var method: String
        package var target: String
        /// Names in lower case.
        package var fields: [String: String]
        package var body: [UInt8]
    }

    package enum Reply: Sendable {
        /// A complete answer.
        case answer(status: Int, fields: [String] = [], body: [UInt8])
        /// These bytes, and then the end of the connection.
        case bytesAndEnd([UInt8])
        /// One byte every 20 ms, without an end.
        case dribble([UInt8])
        /// Nothing.
        case silence
        /// A reset.
        case reset
    }

    package typealias Script = @Sendable (Request, Int) -> Reply

    package let port: UInt16
    private let loop: EventLoop
    private let peers = Locked<[LoopBound<Peer>]>([])
    private let seen = Locked<[Request]>([])
    private let open = Locked<(now: Int, most: Int)>((0, 0))

    package init(tls: TLSContext? = nil, _ script: @escaping Script) throws {
        let loop = try EventLoop(name: "store")
        try loop.start()
        self.loop = loop
        let (peers, seen, open) = (peers, seen, open)
        let endpoint = try loop.call { () throws(LoopError) in
            try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                // With TLS, clients name this protocol.
                stream.endpoint = .http(host: "127.0.0.1", port: 0)
                open.withLock { $0.now += 1 }
                let peer = Peer(stream, tls, onEnd: { open.withLock { $0.now -= 1 } }) { request in
                    // A connection that replaced another is accepted before its end can be read,
                    // but has a request only after it.
                    open.withLock { $0.most = max($0.most, $0.now) }
                    let number = seen.withLock { seen in
                        seen.append(request)
                        return seen.count
                    }
                    return script(request, number)
                }
                peers.withLock { $0.append(LoopBound(peer, to: loop)) }
            }.endpoint
        }
        guard case .tcp(_, let port) = endpoint else { throw LoopError.addressNotAvailable }
        self.port = port
    }

    deinit {
        loop.stop()
        loop.join()
    }

    package var requests: [Request] { seen.withLock { $0 } }
    /// The most connections that were open at once when one had a request.
    package var mostConnections: Int { open.withLock { $0.most } }

    /// One connection.
    private final class Peer {
        private let stream: Stream
        private let answer: (Request) -> Reply
        /// Called once, when the client has ended the connection or it has failed.
        private var onEnd: (() -> Void)?
        private var timer: Timer?

        init(
            _ stream: Stream, _ tls: TLSContext?, onEnd: @escaping () -> Void,
            _ answer: @escaping (Request) -> Reply
        ) {
            self.stream = stream
            self.answer = answer
            self.onEnd = onEnd
            stream.setHandler { [self] event in
                switch event {
                case .received: receive()
                case .ended:
                    noteEnd()
                    self.stream.finish()
                case .failed: end()
                case .closed: noteEnd()
                case .connected, .written: break
                }
            }
            if let tls { try? stream.secure(tls) } else { stream.resumeReading() }
        }

        private func noteEnd() {
            onEnd?()
            onEnd = nil
        }

        private func end() {
            timer?.close()
            timer = nil
            stream.close()
        }

        private func receive() {
            while !stream.isClosing, let bytes = stream.received.unread {
                let span = bytes.span
                var all: [UInt8] = []
                for index in span.indices { all.append(span[index]) }
                guard let (request, count) = Self.parse(all) else { return }
                stream.received.skip(count)
                reply(answer(request))
            }
        }

        private func reply(_ reply: Reply) {
            switch reply {
            case .answer(let status, let fields, let body):
                let all = fields + ["Content-Length: \(body.count)"]
                let head = "HTTP/1.1 \(status) X\r\n" + all.joined(separator: "\r\n") + "\r\n\r\n"
                stream.write(Array(head.utf8) + body)
            case .bytesAndEnd(let bytes):
                stream.write(bytes)
                stream.finish()
            case .dribble(let bytes): dribble(bytes)
            case .silence: break
            case .reset: end()
            }
        }

        private func dribble(_ bytes: [UInt8]) {
            timer = try? Timer(on: stream.loop)
            var next = 0
            timer?.start(afterMilliseconds: 1, everyMilliseconds: 20) { [self] in
                guard !stream.isClosing else { return end() }
                stream.write([bytes[next % bytes.count]])
                next += 1
            }
        }

        /// A request at the front of the bytes, and its size; nil if it is incomplete.
        private static func parse(_ bytes: [UInt8]) -> (Request, Int)? {
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { return nil }
            let lines = text[..<end.lowerBound].split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            var fields: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                fields[parts[0].lowercased()] = String(parts.last!.drop { $0 == " " })
            }
            let head = text.utf8.distance(from: text.startIndex, to: end.upperBound)
            let length = fields["content-length"].flatMap { Int($0) } ?? 0
            guard bytes.count >= head + length else { return nil }
            let body = Array(bytes[head..<head + length])
            return (
                Request(
                    method: String(words[0]), target: String(words[1]), fields: fields, body: body),
                head + length
            )
        }
    }
}

extension String {
    /// The first offset of a text.
    fileprivate func range(of text: String) -> Range<Index>? { firstRange(of: text) }
}
