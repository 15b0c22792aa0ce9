import AssayModels
import AssayWire
import Foundation
import Glibc
import Testing

@testable import AssayCommand

/// A server that refuses each item twice before it verifies it, and "never" for good.
final class BusyServer: Sendable {
    let address: String
    private let listener: Int32

    init(at path: String) throws {
        address = "unix:" + path
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        listener = descriptor
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { bytes in
            for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bound = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size)
            }
        }
        try #require(bound == 0 && listen(descriptor, 16) == 0)
        Thread.detachNewThread {
            while case let peer = accept(descriptor, nil, nil), peer >= 0 { Self.serve(peer) }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ peer: Int32) {
        let codec = MessageCodec()
        var bytes: [UInt8] = []
        var attempts: [[UInt8]: Int] = [:]
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe read(peer, &chunk, chunk.count), count > 0 {
            bytes += chunk[..<count]
            var output: [UInt8] = []
            while let (head, body) = takeFrame(&bytes, codec) {
                attempts[body, default: 0] += 1
                answer(head, body, attempt: attempts[body]!, codec, &output)
            }
            _ = unsafe write(peer, output, output.count)
        }
        close(peer)
    }

    private static func takeFrame(
        _ bytes: inout [UInt8], _ codec: MessageCodec
    ) -> (RequestHead, [UInt8])? {
        func number(_ start: Int) -> Int {
            bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        guard bytes.count >= 8, bytes.count >= 4 + number(0) else { return nil }
        let (end, headEnd) = (4 + number(0), 8 + number(4))
        let encoded = Array(bytes[8..<headEnd])
        let body = Array(bytes[headEnd..<end])
        bytes.removeFirst(end)
        guard let head = try? codec.decodeRequest(encoded.span) else { return nil }
        return (head, body)
    }

    private static func answer(
        _ request: RequestHead, _ body: [UInt8], attempt: Int, _ codec: MessageCodec,
        _ output: inout [UInt8]
    ) {
        func refuse(_ status: Status, _ pause: UInt32) {
            let head = ResponseHead(
                id: request.id, status: status, message: "busy", retryAfterMilliseconds: pause)
            codec.encodeFrame(head, body: [], into: &output)
        }
        switch request.call {
        case .info:
            let limits = ServerInfo.Limits(
                frameBytes: 1 << 20, headBytes: 1 << 16, jwsBytes: 1 << 16,
                notificationBytes: 1 << 16, requestsInFlight: 2)
            let info = ServerInfo(
                version: "0", kinds: [], limits: limits, trustedRoots: [], proto: "")
            codec.encodeFrame(
                ResponseHead(id: request.id, result: .info(info)), body: [], into: &output)
        case .verify where body == Array("never".utf8): refuse(.resourceExhausted, 0)
        case .verify where !request.mayWait: refuse(.invalidArgument, 0)
        case .verify where attempt == 1: refuse(.resourceExhausted, 10)
        case .verify where attempt == 2: refuse(.unavailable, 0)
        default:
            let verification = Verification(verdict: .valid, detail: "d", kind: .transaction)
            let payload = Array("{\"payload\":{\"attempt\":\(attempt)}}".utf8)
            codec.encodeFrame(
                ResponseHead(id: request.id, result: .verification(verification)), body: payload,
                into: &output)
        }
    }
}
