import Assay
import AssayBytes
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// Receipts in calls over HTTP/1.1, of a simulated server.
@Suite("Receipts of Connect and gRPC-Web") struct RPCReceiptTests {
    /// A server that holds 64 KB of a message: a larger one is verified as it arrives, or refused.
    static func streaming(_ seed: UInt64) throws -> SimulatedServer {
        try SimulatedServer(seed: seed) { $0.limits.httpJSONBytes = 64 << 10 }
    }

    @Test(
        "a receipt above the limit of JSON is verified as it arrives",
        arguments: 1...8 as ClosedRange<UInt64>)
    func receipts(_ seed: UInt64) throws {
        let receipt = try Minted.receipt(bytes: 200_000)
        let message = RPCBytes.request(receipt, kind: .appReceipt)
        #expect(message.count > 128 << 10)
        let server = try Self.streaming(seed)
        let caller = SimulatedCaller(server)
        for form in [RPCTestForm.proto, .web] {
            let body = form == .web ? RPCBytes.frame(message) : message
            let requests = [
                RPCBytes.post(form, body),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 10_000),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 61),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 1 << 20),
            ]
            for (index, request) in requests.enumerated() {
                let (answer, code) = form.answer(caller.ask(request))
                #expect(code == 0, "\(form) \(index)")
                #expect(form.verdict(answer ?? []) == "VERDICT_VALID", "\(form) \(index)")
            }
        }
        #expect(server.heldResources.evidenceBytes == 0)
    }

    @Test("the evidence is not last: the message is read whole, up to the limit of JSON")
    func otherOrder() throws {
        let caller = SimulatedCaller(try Self.streaming(1))
        for (bytes, code) in [(20_000, 0), (200_000, Int(Status.resourceExhausted.rawValue))] {
            let receipt = try Minted.receipt(bytes: bytes)
            let message = RPCBytes.request(receipt, kind: .appReceipt, isLast: false)
            #expect(
                RPCTestForm.proto.answer(caller.ask(RPCBytes.post(.proto, message))).code == code)
        }
    }

    @Test("bytes after a receipt, and a receipt without its end, in chunks")
    func brokenReceipts() throws {
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let server = try Self.streaming(3)
        for (name, body) in [
            ("more", message + [0x20, 0x01]), ("less", Array(message.dropLast(1_000))),
        ] {
            for chunk in [5_000, 1 << 20] {
                let caller = SimulatedCaller(server)
                let request = HTTPClient.post(
                    RPCBytes.verify, body, type: RPCTestForm.proto.rawValue, chunk: chunk)
                let code = RPCTestForm.proto.answer(caller.ask(request)).code
                #expect(code == Int(Status.invalidArgument.rawValue), "\(name) \(chunk)")
                // The connection goes on.
                let next = caller.ask(HTTPClient.get("/v1/health"))
                #expect(next?.status == 200, "\(name) \(chunk)")
            }
        }
        #expect(server.heldResources.evidenceBytes == 0)
    }

    @Test("the deadline of a call ends it")
    func deadlines() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let request = RPCBytes.post(.proto, message, "Connect-Timeout-Ms: 300\r\n")
        caller.peer.send(Array(request.prefix(100_000)))
        server.runUntilIdle()
        server.pass(milliseconds: 1_000)
        #expect(
            RPCTestForm.proto.answer(caller.receive()).code == Int(Status.deadlineExceeded.rawValue)
        )
    }
}
