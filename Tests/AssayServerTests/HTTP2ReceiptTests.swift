import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// Receipts over HTTP/2, of a simulated server: they are verified as they arrive, and the windows
/// open as their bytes are used.
@Suite("Receipts over HTTP/2") struct HTTP2ReceiptTests {
    typealias Bytes = HTTP2Bytes

    @Test(
        "a receipt above the limit of JSON is verified as it arrives, beside others",
        arguments: 1...8 as ClosedRange<UInt64>)
    func receipts(_ seed: UInt64) throws {
        let server = try RPCReceiptTests.streaming(seed)
        let peer = SimulatedHTTP2Peer(server)
        let receipt = try Minted.receipt(bytes: 200_000)
        let message = RPCBytes.request(receipt, kind: .appReceipt)
        let forms: [(path: String, type: String, body: [UInt8])] = [
            (RPCBytes.verify, "application/grpc", RPCBytes.frame(message)),
            (RPCBytes.verify, "application/proto", message),
            (RPCBytes.verify, "application/grpc-web", RPCBytes.frame(message)),
            ("/v1/verify?kind=app-receipt", "application/octet-stream", receipt),
        ]
        // Frames of all streams in turn.
        var parts: [[UInt8]] = forms.enumerated().map { index, form in
            Bytes.head(Int32(2 * index + 1), Bytes.fields(form.path, type: form.type))
        }
        var sent = 0
        let size = [61, 1_000, 16_000, 16_384][Int(seed) % 4]
        peer.send(parts.flatMap(\.self))
        while parts.contains(where: { !$0.isEmpty }) {
            parts = forms.enumerated().map { index, form in
                let part = Array(form.body.dropFirst(sent).prefix(size * 8))
                guard !part.isEmpty else { return [] }
                let isLast = sent + part.count == form.body.count
                return Bytes.data(Int32(2 * index + 1), part, ends: isLast, each: size)
            }
            sent += size * 8
            peer.send(parts.flatMap(\.self))
        }
        for (index, form) in forms.enumerated() {
            let answer = peer[Int32(2 * index + 1)]
            #expect(answer.hasEnded && answer.status == 200, "\(form.type)")
            switch form.type {
            case "application/octet-stream": #expect(answer.text.contains(#""VALID""#))
            case "application/proto":
                #expect(RPCBytes.verification(answer.data)?.verdict == .valid)
            default:
                let message = answer.messages.first ?? []
                #expect(RPCBytes.verification(message)?.verdict == .valid)
            }
        }
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
    }

    @Test("the windows open by what was used, of the stream and of the connection")
    func windows() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Minted.receipt(bytes: 1 << 20), kind: .appReceipt)
        let body = RPCBytes.frame(message)
        // The settings are known from here on.
        peer.send([])
        let window = 256 << 10
        peer.send(
            Bytes.head(1, Bytes.fields(RPCBytes.verify))
                + Bytes.data(1, Array(body.prefix(window)), ends: false, each: 16_384))
        let opened = peer.windows[1] ?? 0
        #expect(opened >= window / 2 && opened <= window)
        // What was used is not held, apart from what the records say.
        #expect(server.heldResources.evidenceBytes < window)
    }

    @Test("bytes after a receipt, and a receipt without its end")
    func broken() throws {
        let server = try RPCReceiptTests.streaming(3)
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let peer = SimulatedHTTP2Peer(server)
        peer.send([])
        for (index, body) in [message + [0x20, 0x01], Array(message.dropLast(1_000))].enumerated() {
            let stream = Int32(2 * index + 1)
            let answer = peer.ask(
                stream, Bytes.post(stream, RPCBytes.verify, body, type: "application/proto"))
            #expect(answer.status == 400, "\(index)")
        }
        #expect(peer.ask(9, Bytes.get(9, "/v1/health")).status == 200)
        #expect(server.heldResources.evidenceBytes == 0)
    }

    @Test("the deadline of a call ends it as it arrives, and its stream alone")
    func deadlines() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        for (stream, timeout) in [(1, "300m"), (3, "20S")] as [(Int32, String)] {
            let more = [("grpc-timeout", timeout)]
            peer.send(
                Bytes.head(stream, Bytes.fields(RPCBytes.verify, more))
                    + Bytes.data(
                        stream, Array(RPCBytes.frame(message).prefix(100_000)), ends: false,
                        each: 16_000))
        }
        server.pass(milliseconds: 1_000)
        peer.receive()
        #expect(peer[1].grpcStatus == Int(Status.deadlineExceeded.rawValue))
        // NO_ERROR: the rest is not wanted.
        #expect(peer[1].code == 0)
        #expect(!peer[3].hasEnded)
        // The other goes on.
        peer.send(
            Bytes.data(
                3, Array(RPCBytes.frame(message).dropFirst(100_000)), ends: true, each: 16_000))
        #expect(RPCBytes.verification(peer[3].message)?.verdict == .valid)
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
    }

    @Test("a stream that is given up holds nothing", arguments: [0, 1_000, 100_000])
    func resets(_ bytes: Int) throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        peer.send(
            Bytes.head(1, Bytes.fields(RPCBytes.verify))
                + Bytes.data(
                    1, Array(RPCBytes.frame(message).prefix(bytes)), ends: false, each: 16_000))
        peer.send(Bytes.reset(1))
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
        #expect(peer.ask(3, Bytes.get(3, "/v1/health")).status == 200)
    }

    @Test("a stream of messages whose time ends drops the receipt that arrives on it")
    func late() throws {
        let server = try RPCReceiptTests.streaming(1)
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.streamRequest(
            1, try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let fields = Bytes.fields(HTTP2StreamTests.verifyStream, [("grpc-timeout", "500m")])
        peer.send(
            Bytes.head(1, fields)
                + Bytes.data(1, Array(message.prefix(30_000)), ends: false, each: 16_000))
        #expect(server.heldResources.requestsInFlight == 1)
        server.pass(milliseconds: 1_000)
        peer.receive()
        #expect(peer[1].hasEnded && peer[1].grpcStatus == 4)
        #expect(
            server.heldResources.requestsInFlight == 0 && server.heldResources.evidenceBytes == 0)
        #expect(peer.ask(3, Bytes.get(3, "/v1/health")).status == 200)
    }
}
