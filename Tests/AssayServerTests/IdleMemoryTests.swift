import AssayIO
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Line 83: the memory of an idle connection.
@Suite(
    "Idle connections' memory", .ownThread, .serialized, .timeLimit(.minutes(2)),
    .disabled(if: Sanitizer.isOn, "a sanitizer has memory of its own for each allocation"))
struct IdleMemoryTests {
    @Test("line 83: idle connections after large answers take at most 4 KB")
    func idleConnections() throws {
        let path = temporaryPath("idle")
        let server = try ServerProcess(["--listen", "unix:\(path)", "--workers", "2"])
        try #require(!server.ready.isEmpty, "\(server.log)")
        Descriptors.raiseLimit()
        let requests = (1...7 as ClosedRange<UInt64>).flatMap {
            RawClient.frame(RequestHead(id: $0, call: .info))
        }
        func visit(_ count: Int) throws -> [RawClient] {
            try (0..<count).map { _ in
                let client = try RawClient(.unix(path: path))
                try client.send(requests)
                try client.expectAnswers(1...7)
                return client
            }
        }
        // Excludes memory that the server keeps for reuse.
        for client in try visit(100) { client.socket.close() }
        let before = try #require(server.residentBytes)
        let idle = try visit(400)
        let grown = try #require(server.residentBytes) - before
        print("an idle connection takes \(grown / idle.count) bytes")
        // Each output would be 256 KB. The C library keeps some memory between allocations.
        #expect(grown / idle.count < (4 << 10) + (4 << 20) / idle.count)
        for client in idle { client.socket.close() }
        #expect(server.end() == 0)
    }
}
