import AssayIO
import TestSupport
import Testing

@testable import AssayStore

@Suite("Requests without a token, by libcurl")
struct PlainTransportTests {
    private static func send(
        body: [UInt8]?, byteLimit: Int = 1000, _ script: @escaping ScriptedStore.Script
    ) async throws -> (result: TransferResult, seen: [ScriptedStore.Request]) {
        let store = try ScriptedStore(script)
        let transport = try PlainTransport(proxy: "")
        let result: TransferResult
        do throws(StoreTransportError) {
            result = .success(
                try await transport.send(
                    "http://127.0.0.1:\(store.port)/path", body: body,
                    contentType: "application/ocsp-request", accept: "application/ocsp-response",
                    byteLimit: byteLimit, timeout: 200_000))
        } catch {
            result = .failure(error)
        }
        transport.close()
        return (result, store.requests)
    }

    @Test("a posted request has its types, and no token")
    func posts() async throws {
        let (result, seen) = try await Self.send(body: [1, 2, 3]) { _, _ in
            .answer(status: 200, fields: [], body: [4, 5])
        }
        #expect(try result.get().body == [4, 5])
        #expect(seen.count == 1 && seen[0].method == "POST" && seen[0].target == "/path")
        #expect(seen[0].fields["authorization"] == nil)
        #expect(seen[0].fields["accept"] == "application/ocsp-response")
        #expect(seen[0].fields["content-type"] == "application/ocsp-request")
    }

    @Test("a list is got")
    func gets() async throws {
        let (_, seen) = try await Self.send(body: nil) { _, _ in
            .answer(status: 200, fields: [], body: [])
        }
        #expect(seen.map(\.method) == ["GET"])
    }

    @Test("an answer has at most the bytes of the request's limit")
    func sizes() async throws {
        for (count, isAccepted) in [(1000, true), (1001, false)] {
            let (result, _) = try await Self.send(body: nil) { _, _ in
                .answer(status: 200, fields: [], body: [UInt8](repeating: 7, count: count))
            }
            if isAccepted {
                #expect(try result.get().body.count == count)
            } else {
                #expect(result == .failure(.answerTooLarge(limit: 1000)))
            }
        }
    }

    @Test("a redirection is not followed")
    func redirections() async throws {
        let (result, seen) = try await Self.send(body: [1]) { _, _ in
            .answer(status: 302, fields: ["Location: /elsewhere"], body: [])
        }
        #expect(try result.get().status == 302 && seen.count == 1)
    }
}
