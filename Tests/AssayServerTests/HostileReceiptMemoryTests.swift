import Assay
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Receipts that take far more memory than their size. The server counts the memory while they
/// arrive, and refuses them at the limit.
@Suite(.timeLimit(.minutes(2))) struct HostileReceiptMemoryTests {
    private static func payload(_ attributes: [UInt8]) -> [UInt8] {
        var payload = ReceiptPayload()
        payload.append(raw: attributes)
        return payload.bytes
    }

    /// Twelve bytes each, and over a hundred in memory.
    private static let emptyRecords: [UInt8] = {
        let record = ReceiptPayload.encode(ReceiptPayload.inApp([]))
        return Array(repeatElement(record, count: 100_000).joined())
    }()

    private static let unknownAttributes: [UInt8] = (0..<64).flatMap { index in
        ReceiptPayload.encode(
            ReceiptAttribute(
                type: 1_000 + index, version: 1, value: [UInt8](repeating: 0, count: 65_000)))
    }

    @Test func heldMemoryIsCounted() throws {
        let minter = ReceiptMinter(try Minted.receiptCA.get().chain)
        let large = try minter.sign(Self.payload(Self.emptyRecords))
        let unknown = try minter.sign(Self.payload(Self.unknownAttributes))
        let wrapper =
            Array("{\"Store\":\"a\",\"Payload\":\"".utf8)
            + [UInt8](repeating: UInt8(ascii: "M"), count: 900_000)
        let rows: [(String, [UInt8], InAppSelection, ClosedRange<Int>)] = [
            ("records", large, .all, 100_000 * 100...100_000 * 400),
            ("records, none kept", large, .none, 0...300 << 10),
            ("unknown attributes", unknown, .none, 0...300 << 10),
            ("JSON around it", wrapper, .none, 900_000...2_000_000),
        ]
        for (name, receipt, inApp, range) in rows {
            try withServer { test in
                let client = try RawClient(test.unix)
                let frame = RawClient.verify(1, .appReceipt, receipt, inApp: inApp)
                try client.send(Array(frame.dropLast(1)))
                test.eventually { $0.requestsInFlight == 1 && $0.bufferedBytes == 0 }
                test.eventually { range.contains($0.evidenceBytes) }
                let held = try #require(test.server.heldResources).evidenceBytes
                #expect(range.contains(held), "\(name): \(held)")
                try client.send(Array(frame.suffix(1)))
                #expect(try client.receive()?.head.status == .ok, "\(name)")
            }
        }
    }

    @Test func receiptsAreRefusedWhileTheyArrive() throws {
        let minter = ReceiptMinter(try Minted.receiptCA.get().chain)
        let large = try minter.sign(Self.payload(Self.emptyRecords))
        try withServer {
            $0.limits.evidenceBytes = 8 << 20
        } _: { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.verify(1, .appReceipt, large, inApp: .all))
            let refusal = try #require(try client.receive()).head
            #expect(refusal.id == 1 && refusal.status == .resourceExhausted)
            #expect(refusal.retryAfterMilliseconds == 0, "it never fits")
            // The connection continues after the refused frame.
            try client.expectPong()
            try client.send(RawClient.verify(2, .appReceipt, large, inApp: .none))
            #expect(try client.receive()?.head.status == .ok)
        }
    }
}
