import Assay
import AssayBytes
import AssayIO
import AssayModels
import AssayServer
import TestSupport
import Testing

/// A client that can send any bytes, and reads responses.
final class HTTPClient {
    let socket: any ByteConnection
    private var received: [UInt8] = []

    struct Response {
        let status: Int
        /// The head, in lower case.
        let head: String
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of a field.
        func field(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") {
                guard let colon = line.firstIndex(of: ":"), line[..<colon] == name else { continue }
                return String(line[line.index(after: colon)...].drop { $0 == " " })
            }
            return nil
        }

        /// A member of the JSON object in the body.
        func member(_ name: String) -> String? {
            guard let json = try? JSONDocument.parse(body, limit: .max) else { return nil }
            return json.root[name].map { $0.string ?? String(decoding: $0.raw, as: UTF8.self) }
        }
    }

    init(_ endpoint: Endpoint) throws { socket = try BlockingClient(endpoint) }

    init(_ address: TestAddress) throws { socket = try address.connect() }

    func send(_ text: String) throws { try socket.send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

    private func receiveMore() throws -> Bool {
        let more = try socket.receive(upTo: 64 << 10)
        received += more
        return !more.isEmpty
    }

    /// Receives the next response; nil at the end of the stream.
    ///
    /// - Parameter hasBody: false for the response to HEAD.
    func receive(hasBody: Bool = true) throws -> Response? {
        let separator = Array("\r\n\r\n".utf8)
        while true {
            if let end = received.firstRange(of: separator) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
                let words = head.split(separator: " ", maxSplits: 2)
                guard words.first == "http/1.1", words.count > 1, let status = Int(words[1]) else {
                    throw BlockingClient.Failure(what: "no response: \(head.prefix(40))")
                }
                var response = Response(status: status, head: head, body: [])
                let length = hasBody ? Int(response.field("content-length") ?? "0") ?? 0 : 0
                while received.count < end.upperBound + length {
                    guard try receiveMore() else {
                        throw BlockingClient.Failure(what: "the stream ended within a body")
                    }
                }
                let body = received[end.upperBound..<end.upperBound + length]
                response = Response(status: status, head: head, body: Array(body))
                received.removeFirst(end.upperBound + length)
                return response
            }
            guard try receiveMore() else {
                guard received.isEmpty else {
                    throw BlockingClient.Failure(what: "the stream ended within a response")
                }
                return nil
            }
        }
    }

    /// Receives the next chunk of a response as text; nil after the last one.
    func receiveChunk() throws -> String? {
        let lineBreak = Array("\r\n".utf8)
        while true {
            if let end = received.firstRange(of: lineBreak) {
                let text = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                guard let size = Int(text, radix: 16) else {
                    throw BlockingClient.Failure(what: "no chunk: \(text.prefix(40))")
                }
                let last = end.upperBound + size
                while received.count < last + 2 {
                    guard try receiveMore() else {
                        throw BlockingClient.Failure(what: "the stream ended within a chunk")
                    }
                }
                let data = String(decoding: received[end.upperBound..<last], as: UTF8.self)
                received.removeFirst(last + 2)
                return size == 0 ? nil : data
            }
            guard try receiveMore() else {
                throw BlockingClient.Failure(what: "the stream ended before the last chunk")
            }
        }
    }

    /// Sends a request, and receives its response.
    func ask(_ request: [UInt8]) throws -> Response {
        try send(request)
        return try #require(try receive())
    }

    func ask(_ text: String) throws -> Response { try ask(Array(text.utf8)) }

    /// Expects that the connection still answers.
    func expectHealth(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let response = try ask(Self.get("/v1/health"))
        #expect(response.status == 200, sourceLocation: sourceLocation)
        #expect(
            response.text == "{\"status\":\"SERVING\"}\n", sourceLocation: sourceLocation)
    }

    // MARK: Requests

    static func get(_ target: String, _ fields: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }

    static func post(
        _ target: String, _ body: [UInt8], type: String = "application/octet-stream",
        _ fields: String = ""
    ) -> [UInt8] {
        Array(
            ("POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n"
                + "Content-Length: \(body.count)\r\n\(fields)\r\n").utf8) + body
    }

    static func post(_ target: String, json: String, _ fields: String = "") -> [UInt8] {
        post(target, Array(json.utf8), type: "application/json", fields)
    }

    /// The same with a chunked body.
    static func post(
        _ target: String, _ body: [UInt8], type: String = "application/octet-stream",
        chunk: Int
    ) -> [UInt8] {
        var bytes = Array(
            ("POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n").utf8)
        var start = 0
        while start < body.count {
            let end = min(start + chunk, body.count)
            bytes += Array((String(end - start, radix: 16) + "\r\n").utf8)
            bytes += body[start..<end]
            bytes += [13, 10]
            start = end
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }
}

/// Runs a test against a server with a listener of HTTP.
func withHTTPServer(
    heldBy clock: HeldBackground? = nil,
    _ change: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (TestServer, TestAddress) throws -> Void
) throws {
    try withServer(heldBy: clock) {
        $0.listen.append(.http(host: "127.0.0.1", port: 0))
        $0.limits.defaultTimeoutMilliseconds = RawClient.patience
        change(&$0)
    } _: { test in
        try body(test, test.addresses[2])
    }
}
