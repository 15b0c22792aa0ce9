import AssayServer
import AssayWire
import TestSupport
import Testing

@testable import AssayIO

/// What a TLS server negotiates, and records that cost more than they carry.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct HostileTLSRecordTests {
    private static func context(_ pki: TestPKI, allowsTLS12: Bool = false) throws -> TLSContext {
        let (certificate, key) = try pki.issue("localhost", [.loopback, .dns("localhost")])
        return try TLSContext(
            server: TLSServerSettings(
                certificate: certificate, key: key, allowsTLS12: allowsTLS12))
    }

    /// Shakes hands in memory. Returns whether that ended well.
    private static func shake(_ server: inout TLSSession, _ peer: OpenSSLPeer) -> Bool {
        for _ in 0..<4 {
            let isDone = peer.handshake()
            server.feed(peer.take().span)
            let step = server.handshake()
            if case .bytes = step, isDone { return true }
            peer.feed(server.takeCiphertext())
            if peer.alert != nil { return false }
        }
        _ = peer.handshake()
        return false
    }

    @Test("line 124: TLS 1.2 has AEAD and SHA-2 alone")
    func tls12() throws {
        let context = try Self.context(TestPKI(), allowsTLS12: true)
        let strict = try Self.context(TestPKI())
        let table: [(ciphers: String, signatures: String?, passes: Bool)] = [
            ("ECDHE-ECDSA-AES128-GCM-SHA256", nil, true),
            ("ECDHE-ECDSA-AES256-GCM-SHA384", nil, true),
            ("ECDHE-ECDSA-CHACHA20-POLY1305", nil, true),
            ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA+SHA256", true),
            ("ECDHE-ECDSA-AES128-GCM-SHA256:@SECLEVEL=0", "ECDSA+SHA1", false),
            ("ECDHE-ECDSA-AES128-GCM-SHA256:@SECLEVEL=0", "ECDSA+SHA1:ECDSA+SHA256", true),
            ("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0", nil, false),
            ("ECDHE-ECDSA-AES128-SHA256", nil, false),
            ("ECDHE-ECDSA-AES256-SHA384", nil, false),
            ("ECDHE-ECDSA-AES128-CCM", nil, false),
            ("ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256", nil, true),
        ]
        for (ciphers, signatures, passes) in table {
            let offer = OpenSSLPeer.Offer(ciphers12: ciphers, signatures: signatures)
            var server = try TLSSession(context, host: nil)
            let peer = OpenSSLPeer(offer)
            #expect(Self.shake(&server, peer) == passes, "\(ciphers), \(signatures ?? "")")
            // handshake_failure
            #expect(peer.alert == (passes ? nil : 40), "\(ciphers), \(signatures ?? "")")
            if passes { #expect(peer.cipher.contains("GCM") || peer.cipher.contains("CHACHA")) }
            // protocol_version
            var other = try TLSSession(strict, host: nil)
            let refused = OpenSSLPeer(offer)
            #expect(!Self.shake(&other, refused) && refused.alert == 70)
        }
    }

    @Test("line 258: groups whose key exchange costs much are refused before it begins")
    func groups() throws {
        let context = try Self.context(TestPKI())
        let table: [(groups: String, passes: Bool)] = [
            ("X25519", true), ("P-256", true), ("P-384", true),
            ("ffdhe2048", false), ("ffdhe8192", false), ("P-521", false), ("X448", false),
            // The share is of the first group: the server asks for one of the other.
            ("ffdhe8192:X25519", true), ("P-521:P-256", true),
        ]
        for (groups, passes) in table {
            var server = try TLSSession(context, host: nil)
            let peer = OpenSSLPeer(OpenSSLPeer.Offer(groups: groups))
            #expect(Self.shake(&server, peer) == passes, "\(groups)")
            // handshake_failure
            #expect(peer.alert == (passes ? nil : 40), "\(groups)")
        }
    }

    @Test("line 123: a client that names only other protocols is refused")
    func protocols() throws {
        let context = try Self.context(TestPKI())
        let table: [(offer: [String], isHTTP: Bool, passes: Bool, selected: String?)] = [
            ([], true, true, nil), ([], false, true, nil),
            (["http/1.1"], true, true, "http/1.1"),
            (["h2", "http/1.1"], true, true, "h2"), (["http/1.1", "h2"], true, true, "h2"),
            (["h2"], true, true, "h2"), (["h2c"], true, false, nil),
            (["http/1.0", "h3"], true, false, nil),
            (["http/1.1x"], true, false, nil), (["HTTP/1.1"], true, false, nil),
            (["http/1.1"], false, false, nil), (["h2"], false, false, nil),
        ]
        for (offer, isHTTP, passes, selected) in table {
            var server = try TLSSession(context, host: nil, speaksHTTP: isHTTP)
            let peer = OpenSSLPeer(OpenSSLPeer.Offer(protocols: offer))
            #expect(Self.shake(&server, peer) == passes, "\(offer), HTTP: \(isHTTP)")
            #expect(peer.selected == selected, "\(offer), HTTP: \(isHTTP)")
            // no_application_protocol
            #expect(peer.alert == (passes ? nil : 120), "\(offer), HTTP: \(isHTTP)")
        }
    }

    @Test("line 123: the listener decides which protocols a client can name")
    func protocolsOfListeners() throws {
        let pki = try TestPKI()
        try withSocketServer {
            $0.listen += [.tls(host: "127.0.0.1", port: 0), .https(host: "127.0.0.1", port: 0)]
            $0.tls = try? pki.server(ofClients: false)
        } _: { test in
            for (index, offer, passes) in [
                (2, ["h2"], false), (2, ["http/1.1"], false), (2, [], true),
                (3, ["h2"], true), (3, ["h2", "http/1.1"], true), (3, [], true),
                (3, ["http/1.1"], true), (3, ["h3"], false),
            ] as [(Int, [String], Bool)] {
                let client = try BlockingClient(test.server.endpoints[index])
                let peer = OpenSSLPeer(OpenSSLPeer.Offer(protocols: offer))
                #expect(try peer.handshake(over: client) == passes, "\(index) \(offer)")
                #expect(peer.alert == (passes ? nil : 120), "\(index) \(offer)")
            }
        }
    }

    @Test("line 263: a client speaks the protocol that it has agreed to")
    func agreedProtocol() throws {
        let pki = try TestPKI()
        let http1 = Array(
            "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        try withSocketServer {
            $0.listen.append(.https(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(ofClients: false)
        } _: { test in
            for (offer, bytes, answer) in [
                ([], http1, "HTTP/1.1 200"), (["http/1.1"], http1, "HTTP/1.1 200"),
                (["h2", "http/1.1"], http1, nil),
                (["http/1.1"], HTTP2Bytes.start, nil), (["h2"], HTTP2Bytes.start, "\0"),
                ([], HTTP2Bytes.start, "\0"),
            ] as [([String], [UInt8], String?)] {
                let client = try BlockingClient(test.server.endpoints[2])
                let peer = OpenSSLPeer(OpenSSLPeer.Offer(protocols: offer))
                #expect(try peer.handshake(over: client))
                peer.write(bytes)
                try client.send(peer.take())
                client.finishWriting()
                peer.feed((try? client.receiveToEnd()) ?? [])
                let received = peer.read()
                if let answer {
                    #expect(received.starts(with: answer.utf8), "\(offer)")
                } else {
                    #expect(received.isEmpty, "\(offer)")
                }
            }
            #expect(test.log.count(of: "another protocol than TLS has agreed") > 0)
        }
    }

    private static func read(_ server: inout TLSSession) -> (bytes: Int, hasFailed: Bool) {
        var bytes: [UInt8] = []
        for _ in 0..<1_000 {
            switch server.read(upTo: 1_000, into: &bytes) {
            case .bytes: continue
            case .needMore, .ended: return (bytes.count, false)
            case .failed(let error):
                let text = "more than 32 handshake messages without data"
                #expect(error == .protocolFault(text))
                return (bytes.count, true)
            }
        }
        return (bytes.count, false)
    }

    @Test("line 122: 32 KeyUpdates without data are accepted, one more ends the connection")
    func keyUpdates() throws {
        let context = try Self.context(TestPKI())
        // KeyUpdates before each byte, and how many bytes of them arrive.
        let table: [(updates: [Int], bytes: Int, hasFailed: Bool)] = [
            ([0, 0], 2, false), ([1, 5], 2, false), ([32], 1, false), ([33], 0, true),
            ([2_000], 0, true), (Array(repeating: 32, count: 20), 20, false),
            ([32, 33, 0], 1, true), ([16, 17, 32, 0], 4, false),
        ]
        for (updates, bytes, hasFailed) in table {
            for isWhole in [true, false] {
                var server = try TLSSession(context, host: nil)
                let peer = OpenSSLPeer()
                #expect(Self.shake(&server, peer))
                var (seen, failed) = (0, false)
                for count in updates where !failed {
                    for _ in 0..<count {
                        peer.updateKeys()
                        // One at a time, or all in one read.
                        guard !isWhole, !failed else { continue }
                        server.feed(peer.take().span)
                        failed = Self.read(&server).hasFailed
                    }
                    peer.write([7])
                    guard !failed else { break }
                    server.feed(peer.take().span)
                    let read = Self.read(&server)
                    seen += read.bytes
                    failed = read.hasFailed
                }
                #expect(seen == bytes && failed == hasFailed, "\(updates), whole: \(isWhole)")
            }
        }
    }

    @Test("line 122: a flood of KeyUpdates ends its connection; data in between keeps it")
    func keyUpdatesToServer() throws {
        let pki = try TestPKI()
        try withSocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(ofClients: false)
        } _: { test in
            for (updates, isServed) in [(30, true), (40, false)] {
                let client = try BlockingClient(test.server.endpoints[2])
                let peer = OpenSSLPeer()
                #expect(try peer.handshake(over: client))
                for id in 1...50 as ClosedRange<UInt64> {
                    for _ in 0..<updates { peer.updateKeys() }
                    peer.write(RawClient.ping(id))
                }
                try? client.send(peer.take())
                client.finishWriting()
                peer.feed((try? client.receiveToEnd()) ?? [])
                let answers = peer.read()
                // All answers have the same length, after four bytes that say it.
                let frames = answers.count / (4 + Int(answers.dropFirst(3).first ?? 0))
                #expect(frames == (isServed ? 50 : 0), "\(answers.count) bytes")
            }
            test.eventually { _ in
                test.log.count(of: "more than 32 handshake messages without data") == 1
            }
        }
    }

    @Test("line 122: a turn reads a share of one connection's records", arguments: [0, 10])
    func recordShare(updates: Int) throws {
        let context = try Self.context(TestPKI())
        try withLoop { loop in
            // The records of each turn.
            let turns = Locked<[Int]>([0])
            let over = Latch()
            let kept = Locked<LoopBound<TurnEnd>?>(nil)
            let endpoint = try loop.call { () throws(LoopError) in
                let turnEnd = try TurnEnd(on: loop) { turns.withLock { $0.append(0) } }
                kept.withLock { $0 = LoopBound(turnEnd, to: loop) }
                return try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                    stream.setHandler { [unowned stream] event in
                        switch event {
                        case .received:
                            let count = stream.received.unreadCount
                            stream.received.skip(count)
                            turns.withLock { $0[$0.count - 1] += count }
                        case .ended, .failed: stream.close()
                        case .closed: over.open()
                        case .connected, .written: break
                        }
                    }
                    try? stream.secure(context)
                }.endpoint
            }
            let client = try BlockingClient(endpoint)
            let peer = OpenSSLPeer()
            #expect(try peer.handshake(over: client))
            for _ in 0..<1_000 {
                for _ in 0..<updates { peer.updateKeys() }
                peer.write([7])
            }
            try client.send(peer.take())
            client.finishWriting()
            over.wait()
            let seen = turns.withLock { $0 }
            #expect(seen.reduce(0, +) == 1_000)
            #expect(seen.max()! <= (RecordQuota.limit + updates) / (1 + updates), "\(seen)")
            try loop.call { () throws(LoopError) in kept.withLock { $0 = nil } }
        }
    }
}
