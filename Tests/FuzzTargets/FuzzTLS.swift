import Assay
import AssayBytes
import AssayIO

/// TLS between a genuine client and a genuine server. The fuzzer changes the bytes between them.
extension FuzzTarget {
    /// First byte: in memory or through a server's socket, and which sides present certificates.
    /// Second and third: the client's data. Fourth: the split. Then five bytes for each edit of
    /// a flight. Invariants: no side reads data that the other did not write; without edits it
    /// reads all data, for every split.
    static func tls() -> FuzzTarget {
        let bench = TLSBench()
        return FuzzTarget("TLS", seeds: tlsSeeds) { bytes in
            guard bytes.count >= 4 else { return }
            let script = TLSScript(bytes)
            let isServed = script.showsClient || !script.asksClient
            let isWhole = script.edits.isEmpty && isServed
            if script.usesSocket {
                guard isServed else { return }
                let echo = bench.throughSocket(script)
                precondition(script.said.starts(with: echo), "an echo of what was not said")
                precondition(!isWhole || echo == script.said, "a part of the echo")
            } else {
                var wire = TLSWire(
                    script, server: bench.server(script), client: bench.client(script))
                wire.run()
                precondition(script.said.starts(with: wire.heard), "heard, and not said")
                precondition(wire.heard.starts(with: wire.echoed), "an echo of what was not heard")
                precondition(!isWhole || wire.echoed == script.said, "a part of it")
            }
        }
    }

    private static var tlsSeeds: [[UInt8]] {
        [
            [0, 1, 1, 255], [0, 3, 9, 0], [1, 2, 80, 40], [2, 1, 1, 255], [6, 2, 4, 9],
            [7, 1, 255, 255], [5, 7, 255, 3],
            // One bit flipped in each of the first flights; bytes inserted, dropped, duplicated,
            // truncated.
            [6, 1, 1, 255, 0, 0, 0, 5, 1], [6, 1, 1, 255, 1, 0, 0, 5, 1],
            [6, 1, 1, 255, 2, 0, 0, 9, 128], [0, 1, 1, 255, 0, 1, 0, 5, 3],
            [0, 1, 1, 255, 1, 2, 0, 120, 9], [1, 3, 9, 255, 4, 3, 0, 5, 30],
            [1, 3, 9, 255, 4, 4, 0, 50, 0], [1, 1, 9, 255, 4, 0, 0, 0, 2],
        ]
    }

    /// The fuzzer's bytes to a TLS server, split by the first two. Invariants: no handshake
    /// succeeds; the answer is TLS; and no handshake stays pending.
    static func handshake() -> FuzzTarget {
        let bench = TLSBench()
        return FuzzTarget("Handshake", seeds: handshakeSeeds) { bytes in
            guard bytes.count >= 2 else { return }
            let stream = bytes.array(2..<bytes.count)
            let answer = bench.answer(to: stream, cuts: [Int(bytes[0]) * 4 + 1, Int(bytes[1]) + 1])
            TLSRecord.check(answer)
            precondition(bench.pendingHandshakes < 64, "handshakes that have ended stay")
        }
    }

    /// A genuine ClientHello, and parts of it.
    private static var handshakeSeeds: [[UInt8]] {
        let hello = TLSBench().clientHello
        return [
            [255, 255] + hello, [0, 0] + hello, [255, 255] + hello.dropLast(),
            [255, 255] + hello + hello, [10, 3] + hello + [20, 3, 3, 0, 1, 1],
            [255, 255] + hello + [21, 3, 3, 0, 2, 1, 0], [255, 255, 22, 3, 1, 255, 255],
            [255, 255] + hello + [23, 3, 3, 0, 5, 1, 2, 3, 4, 5], [255, 255] + Array("GET /".utf8),
            [255, 255, 128, 46, 1, 3, 1, 0, 21, 0, 0, 0, 16],
        ]
    }
}

struct TLSScript {
    var usesSocket: Bool
    var asksClient: Bool
    var showsClient: Bool
    var said: [UInt8]
    var partCount: Int
    var cut: Int
    var edits: [TLSEdit]

    init(_ bytes: Span<UInt8>) {
        usesSocket = bytes[0] & 1 != 0
        asksClient = bytes[0] & 2 != 0
        showsClient = bytes[0] & 4 != 0
        partCount = Int(bytes[1] & 7) + 1
        said = (0..<Int(bytes[2]) * 97 + 1).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        cut = Int(bytes[3]) * 16 + 1
        edits = stride(from: 4, to: min(bytes.count - 4, 80), by: 5).map { start in
            TLSEdit(bytes.extracting(start..<start + 5))
        }
    }

    func parts(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: cut).map {
            Array(bytes[$0..<min($0 + cut, bytes.count)])
        }
    }

    func changed(_ bytes: [UInt8], flight: Int) -> [UInt8] {
        var bytes = bytes
        for edit in edits { edit.change(&bytes, flight: flight) }
        return bytes
    }

    /// The data to send, in `partCount` parts.
    var sayings: [[UInt8]] {
        let size = said.count / partCount + 1
        return stride(from: 0, to: said.count, by: size).map {
            Array(said[$0..<min($0 + size, said.count)])
        }
    }
}

/// One edit of one flight: the bytes that a side sends at a time.
struct TLSEdit {
    private let flight: Int
    private let kind: UInt8
    private let offset: Int
    private let value: UInt8

    init(_ bytes: Span<UInt8>) {
        flight = Int(bytes[0])
        kind = bytes[1] % 5
        offset = Int(bytes[2]) << 8 | Int(bytes[3])
        value = bytes[4]
    }

    func change(_ bytes: inout [UInt8], flight number: Int) {
        guard number == flight, !bytes.isEmpty else { return }
        let start = offset % bytes.count
        let end = min(start + Int(value) + 1, bytes.count)
        switch kind {
        case 0: bytes[start] ^= value
        case 1: bytes.insert(contentsOf: repeatElement(value, count: Int(value)), at: start)
        case 2: bytes.removeSubrange(start..<end)
        case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
        default: bytes.removeSubrange(start...)
        }
    }
}
