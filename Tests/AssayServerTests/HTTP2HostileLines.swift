import AssayModels
import AssayWire

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions

/// Lines about data, windows, streams and calls.
extension HTTP2HostileTests {
    static let dataLines: [Line] = [
        Line(210, "DATA on stream 0", .connection) { Bytes.data(0, [1]) },
        Line(211, "DATA on a stream that was not begun", .connection) { Bytes.data(7, [1]) },
        Line(212, "DATA after the end of its request", .connection) {
            Bytes.call(1, []) + Bytes.data(1, [1])
        },
        Line(213, "a flood of empty DATA", .connection) {
            Bytes.head(1, rpc) + many(5_000) { _ in Bytes.data(1, []) }
        },
        Line(214, "a receipt in DATA of one byte", .none) {
            let receipt = try Minted.receipt(bytes: 20_000)
            let message = RPCBytes.request(receipt, kind: .appReceipt)
            return Bytes.head(1, rpc)
                + Bytes.data(1, RPCBytes.frame(message), ends: true, each: 1)
        },
        Line(215, "DATA of padding alone", .connection) {
            Bytes.head(1, rpc)
                + many(8_000) { _ in
                    Bytes.frame(0, 8, 1, [255] + [UInt8](repeating: 0, count: 255))
                }
        },
        Line(216, "more DATA than the window of the stream admits", .connection) {
            // JSON, which waits for nothing: but the server reads and widens, so more than all.
            Bytes.head(1, Bytes.fields("/v1/verify", type: "application/json"))
                + [UInt8](repeating: 0, count: 9) + Bytes.frame(0, 0, 1, [], length: 16_385)
        },
        Line(217, "bodies of JSON without their end", .status(408), after: 7_000) {
            many(15) {
                let stream = Int32(2 * $0 + 1)
                return Bytes.head(stream, Bytes.fields("/v1/verify", type: "application/json"))
                    + Bytes.data(stream, [UInt8](repeating: 0x20, count: 16_000))
            }
        },
        Line(218, "a request that is silent after its head", .grpc(4), after: 3_000) {
            Bytes.head(1, rpc)
        },
        Line(219, "a hundred requests that are silent", .grpc(4), after: 7_000) {
            many(100) { Bytes.head(Int32(2 * $0 + 1), rpc) + Bytes.data(Int32(2 * $0 + 1), [0]) }
        },
        Line(220, "WINDOW_UPDATE of 0 for the connection", .connection) { Bytes.window(0, 0) },
        Line(221, "WINDOW_UPDATE of 0 for a stream", .connection) {
            Bytes.head(1, rpc) + Bytes.window(1, 0)
        },
        Line(222, "a window of the connection above the largest", .connection) {
            Bytes.window(0, .max >> 1) + Bytes.window(0, .max >> 1)
        },
        Line(223, "a window of a stream above the largest", .stream) {
            Bytes.head(1, rpc) + Bytes.window(1, .max >> 1)
        },
        Line(224, "WINDOW_UPDATE of a stream that was not begun", .connection) {
            Bytes.window(9, 1)
        },
        Line(225, "a flood of WINDOW_UPDATE", .connection) {
            many(5_000) { _ in Bytes.window(0, 1) }
        },
        Line(226, "answers behind a window of 0", .none, after: 25_000) {
            Bytes.settings([(4, 0)])
                + many(50) { Bytes.get(Int32(2 * $0 + 1), "/v1/openapi.json") }
        },
        Line(227, "answers behind a window of one byte", .none, after: 25_000) {
            Bytes.settings([(4, 1)])
                + many(50) { Bytes.get(Int32(2 * $0 + 1), "/v1/openapi.json") }
        },
    ]

    static let streamLines: [Line] = [
        Line(228, "more streams than are admitted", .connection) {
            // Acknowledged, so that the limit holds.
            Bytes.frame(4, 1, 0, []) + many(101) { Bytes.head(Int32(2 * $0 + 1), rpc) }
        },
        Line(229, "Rapid Reset: requests that are given up at once", .connection) {
            many(4_000) {
                Bytes.head(Int32(2 * $0 + 1), get, ends: true) + Bytes.reset(Int32(2 * $0 + 1))
            }
        },
        Line(230, "Rapid Reset of calls with evidence", .connection) {
            let message = RPCBytes.request(try Minted.transaction.get())
            return many(1_500) {
                Bytes.call(Int32(2 * $0 + 1), message) + Bytes.reset(Int32(2 * $0 + 1))
            }
        },
        Line(231, "streams that the server has to reset", .connection) {
            many(4_000) {
                Bytes.head(Int32(2 * $0 + 1), rpc)
                    + Bytes.window(Int32(2 * $0 + 1), .max >> 1)
            }
        },
        Line(232, "streams of heads that no request has", .connection) {
            many(4_000) { Bytes.frame(1, 5, Int32(2 * $0 + 1), Bytes.block([("x", "1")])) }
        },
        Line(233, "RST_STREAM of a stream that was not begun", .connection) { Bytes.reset(9) },
        Line(234, "RST_STREAM of three bytes", .connection) {
            Bytes.head(1, rpc) + Bytes.frame(3, 0, 1, [0, 0, 0])
        },
        Line(235, "GOAWAY, and requests after it", .closed) {
            Bytes.frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]) + Bytes.get(1, "/v1/health")
        },
        Line(236, "trailers", .grpc(13)) {
            Bytes.head(1, rpc) + Bytes.data(1, RPCBytes.frame([0xFF]))
                + Bytes.frame(1, 5, 1, Bytes.block([("x-a", "1")]))
        },
        Line(237, "trailers without an end of the request", .stream) {
            Bytes.head(1, rpc) + Bytes.data(1, [0])
                + Bytes.frame(1, 4, 1, Bytes.block([("x-a", "1")]))
        },
        Line(238, "pseudo-fields in trailers", .stream) {
            Bytes.head(1, rpc) + Bytes.data(1, [0])
                + Bytes.frame(1, 5, 1, Bytes.block([(":path", "/v1/info")]))
        },
        Line(239, "a flood of trailers", .connection) {
            many(3_000) {
                let stream = Int32(2 * $0 + 1)
                return Bytes.head(stream, rpc) + Bytes.frame(1, 4, stream, [])
            }
        },
    ]

    static let verifyStream = Bytes.fields("/assay.v1.Verifier/VerifyStream")

    static let callLines: [Line] = [
        Line(240, "a message of another length than its prefix says", .grpc(13)) {
            Bytes.head(1, rpc) + Bytes.data(1, [0, 0, 0, 0, 9, 1], ends: true)
        },
        Line(241, "a message of 4 GB", .grpc(13)) {
            Bytes.head(1, rpc) + Bytes.data(1, [0, 255, 255, 255, 255, 1], ends: true)
        },
        Line(242, "two messages of a call that has one", .grpc(12)) {
            let message = RPCBytes.frame(RPCBytes.request(try Minted.transaction.get()))
            return Bytes.head(1, rpc) + Bytes.data(1, message + message, ends: true)
        },
        Line(243, "flags of a message that do not exist", .grpc(13)) {
            Bytes.head(1, rpc) + Bytes.data(1, [0x80, 0, 0, 0, 0], ends: true)
        },
        Line(244, "a compressed message, and no name of the compression", .grpc(13)) {
            Bytes.head(1, rpc) + Bytes.data(1, [1, 0, 0, 0, 1, 0], ends: true)
        },
        Line(245, "a time limit that is none", .grpc(3)) {
            Bytes.call(1, [], [("grpc-timeout", "-1S")])
        },
        Line(246, "a request of a stream that is larger than a message can be", .grpc(8)) {
            Bytes.head(1, verifyStream)
                + Bytes.data(1, [0, 0xFF, 0, 0, 0, 0xA2, 1, 0xF0, 0xFF, 0xFF, 7])
        },
        Line(247, "thousands of empty requests on one stream", .none) {
            Bytes.head(1, verifyStream)
                + Bytes.data(
                    1, [UInt8](repeating: 0, count: 5 * 2_000), ends: true, each: 10_000)
        },
        Line(248, "a stream of requests whose answers are not read", .cut, after: 200) {
            let one = RPCBytes.frame([8, 1])
            let part = many(1_400) { _ in one }
            return Bytes.settings([(4, 0)]) + Bytes.head(1, verifyStream)
                + many(40) { _ in Bytes.data(1, part) }
        },
        Line(249, "a request of a stream without its end", .grpc(4), after: 7_000) {
            Bytes.head(1, verifyStream) + Bytes.data(1, [0, 0, 0, 1, 0, 1])
        },
        Line(250, "a hundred clients of Watch that say nothing more", .none, after: 60_000) {
            many(99) { Bytes.call(Int32(2 * $0 + 1), [], path: "/grpc.health.v1.Health/Watch") }
        },
        Line(251, "a flood of questions of reflection, whose long answers are not read", .cut) {
            let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            var message = MessageBuilder()
            message.set(4, text: "assay.v1.Verifier")
            let one = RPCBytes.frame(message.bytes)
            return Bytes.settings([(4, 0)]) + Bytes.head(1, Bytes.fields(path))
                + Bytes.data(1, many(500) { _ in one }, ends: false, each: 16_000)
        },
    ]
}
