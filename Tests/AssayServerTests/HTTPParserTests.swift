import AssayHTTP
import TestSupport
import Testing

/// Requests that are no requests, with the fault of each.
enum HTTPFaults {
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let bytes: [UInt8]
        let fault: HTTPFault
        var testDescription: String { name }

        init(_ name: String, _ text: String, _ fault: HTTPFault) {
            self.name = name
            bytes = Array(text.utf8)
            self.fault = fault
        }
    }

    private static func fields(_ fields: String) -> String {
        "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n"
    }

    private static func line(_ line: String) -> String { "\(line)\r\nHost: localhost\r\n\r\n" }

    static let heads: [Case] = [
        Case("LF alone", "GET / HTTP/1.1\nHost: localhost\n\n", .bareLineFeed),
        Case("LF alone at the end", "GET / HTTP/1.1\r\nHost: localhost\r\n\n", .bareLineFeed),
        Case("CR alone", fields("A: b\rContent-Length: 5"), .bareCarriageReturn),
        Case("two CR", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", .bareCarriageReturn),
        Case("CR first", "\rGET / HTTP/1.1\r\n\r\n", .bareCarriageReturn),
        Case("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n\r\n", .invalidRequestLine),
        Case("a folded field", fields("A: b\r\n c"), .foldedField),
        Case("a folded field, by a tab", fields("A: b\r\n\tc: d"), .foldedField),
        Case("white space first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", .foldedField),
        Case("white space before the colon", fields("Content-Length : 5"), .invalidFieldName),
        Case("a tab before the colon", fields("Transfer-Encoding\t: chunked"), .invalidFieldName),
        Case("no colon", fields("Content-Length 5"), .invalidFieldName),
        Case("no name", fields(": 5"), .invalidFieldName),
        Case("NUL in a name", fields("Content\u{0}-Length: 5"), .invalidFieldName),
        Case("NUL in a value", fields("A: b\u{0}c"), .invalidFieldValue),
        Case("DEL in a value", fields("A: b\u{7F}c"), .invalidFieldValue),
        Case(
            "two lengths", fields("Content-Length: 5\r\nContent-Length: 6"),
            .repeatedField(.contentLength)),
        Case(
            "the same length twice", fields("Content-Length: 5\r\nContent-Length: 5"),
            .repeatedField(.contentLength)),
        Case("a list of lengths", fields("Content-Length: 5, 5"), .invalidContentLength),
        Case("a signed length", fields("Content-Length: +5"), .invalidContentLength),
        Case("a negative length", fields("Content-Length: -5"), .invalidContentLength),
        Case("a hexadecimal length", fields("Content-Length: 0x5"), .invalidContentLength),
        Case("an empty length", fields("Content-Length:"), .invalidContentLength),
        Case(
            "a length of 2^64", fields("Content-Length: 18446744073709551616"),
            .invalidContentLength),
        Case(
            "length and chunks", fields("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            .twoLengths),
        Case(
            "chunks and length", fields("Transfer-Encoding: chunked\r\nContent-Length: 5"),
            .twoLengths),
        Case("gzip", fields("Transfer-Encoding: gzip"), .unknownTransferEncoding),
        Case(
            "gzip, chunked", fields("Transfer-Encoding: gzip, chunked"),
            .unknownTransferEncoding),
        Case("identity", fields("Transfer-Encoding: identity"), .unknownTransferEncoding),
        Case(
            "chunked with a parameter", fields("Transfer-Encoding: chunked;q=1"),
            .unknownTransferEncoding),
        Case("xchunked", fields("Transfer-Encoding: xchunked"), .unknownTransferEncoding),
        Case(
            "chunked, with a vertical tab", fields("Transfer-Encoding: \u{B}chunked"),
            .invalidFieldValue),
        Case(
            "chunked twice", fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            .repeatedField(.transferEncoding)),
        Case(
            "chunks in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            .unknownTransferEncoding),
        Case("no host", "GET / HTTP/1.1\r\n\r\n", .invalidHost),
        Case("an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", .invalidHost),
        Case("two hosts", fields("Host: other"), .repeatedField(.host)),
        Case("a host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .invalidHost),
        Case("a host with a user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .invalidHost),
        Case("a list of hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", .invalidHost),
        Case("a target with a host, without Host", "GET http://a/ HTTP/1.1\r\n\r\n", .invalidHost),
        Case(
            "a target with a host, two Hosts",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .repeatedField(.host)),
        Case(
            "a target with a host, an invalid Host",
            "GET http://a/ HTTP/1.1\r\nHost: a/b\r\n\r\n", .invalidHost),
        Case("a target with a user", line("GET http://a@b/ HTTP/1.1"), .invalidHost),
        Case("a target without a host", line("GET http:/// HTTP/1.1"), .invalidHost),
        Case(
            "a target with a name after an address", line("GET http://[::1].evil/ HTTP/1.1"),
            .invalidHost),
        Case(
            "two content types", fields("Content-Type: a/b\r\nContent-Type: c/d"),
            .repeatedField(.contentType)),
        Case("another expectation", fields("Expect: 200-ok"), .unknownExpectation),
        Case("two spaces", line("GET  / HTTP/1.1"), .invalidRequestLine),
        Case("a tab", line("GET\t/ HTTP/1.1"), .invalidRequestLine),
        Case("a space at the end", line("GET / HTTP/1.1 "), .invalidRequestLine),
        Case("no version", line("GET /"), .invalidRequestLine),
        Case("a lower-case version", line("GET / http/1.1"), .invalidRequestLine),
        Case("HTTP/1.10", line("GET / HTTP/1.10"), .invalidRequestLine),
        Case("HTTP/1.2", line("GET / HTTP/1.2"), .unsupportedVersion),
        Case("HTTP/0.9", line("GET / HTTP/0.9"), .unsupportedVersion),
        Case("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
        Case("a fragment", line("GET /#a HTTP/1.1"), .invalidRequestLine),
        Case("a target without a slash", line("GET v1/health HTTP/1.1"), .invalidRequestLine),
        Case(
            "a control character in the target", line("GET /\u{1} HTTP/1.1"),
            .invalidRequestLine),
        Case("CONNECT with a path", line("CONNECT localhost/a HTTP/1.1"), .invalidHost),
        Case("another protocol", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", .invalidRequestLine),
        Case(
            "a long target", line("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1"),
            .targetTooLong(limit: HTTPLimits().targetBytes)),
        Case(
            "a long head", fields("A: \(String(repeating: "a", count: 17_000))"),
            .headTooLarge(limit: HTTPLimits().headBytes)),
        Case(
            "many fields", fields((0..<101).map { "A\($0): b" }.joined(separator: "\r\n")),
            .tooManyFields(limit: HTTPLimits().fields)),
    ]

    private static func chunks(_ chunks: String) -> String {
        "POST /v1/verify?kind=transaction HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/jose\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n" + chunks
    }

    static let bodies: [Case] = [
        Case("a size that is no number", chunks("x\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("an empty size", chunks("\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("a size with a prefix", chunks("0x3\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("a signed size", chunks("+3\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("a size with a space", chunks("3 \r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("a space before the size", chunks(" 3\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("an extension after LF", chunks("3;a\nb\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("an extension after CR", chunks("3;a\rb\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("an extension with NUL", chunks("3;a\0\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case(
            "an extension of 257 bytes",
            chunks("3;" + String(repeating: "a", count: 255) + "\r\nabc\r\n0\r\n\r\n"),
            .invalidChunkSize),
        Case(
            "256 blanks after a size, and no end",
            chunks("3" + String(repeating: " ", count: 256)), .invalidChunkSize),
        Case("a comma after the size", chunks("3,a\r\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case(
            "257 zeros before a size",
            chunks(String(repeating: "0", count: 257) + "3\r\nabc\r\n0\r\n\r\n"),
            .invalidChunkSize),
        Case("a size of 4 GB and a byte", chunks("100000000\r\nabc\r\n"), .invalidChunkSize),
        Case("a size of 2^64", chunks("10000000000000003\r\nabc\r\n"), .invalidChunkSize),
        Case("LF after the size", chunks("3\nabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("CR alone after the size", chunks("3\rabc\r\n0\r\n\r\n"), .invalidChunkSize),
        Case("more data than the size", chunks("3\r\nabcd\r\n0\r\n\r\n"), .invalidChunkEnd),
        Case("LF after the data", chunks("3\r\nabc\n0\r\n\r\n"), .invalidChunkEnd),
        Case("a field after the last chunk", chunks("3\r\nabc\r\n0\r\nA: b\r\n\r\n"), .trailer),
        Case("LF after the last chunk", chunks("3\r\nabc\r\n0\r\n\n"), .trailer),
    ]
}

/// Reads one request as a server does.
private struct Reading {
    var head: HTTPHead?
    var data: [UInt8] = []
    /// Bytes of the request; nil while it is incomplete.
    var end: Int?

    /// - Parameter step: the number of bytes that arrive at a time.
    init(_ bytes: [UInt8], step: Int) throws(HTTPFault) {
        var reader = HTTPHeadReader()
        var arrived = 0
        while head == nil, arrived < bytes.count {
            arrived = min(arrived + step, bytes.count)
            head = try reader.next(in: bytes.span.extracting(..<arrived))
        }
        guard let head else { return }
        var body = HTTPBodyReader(head.body)
        var start = head.end
        while true {
            switch try body.next(in: bytes.span.extracting(start..<arrived)) {
            case .needMore:
                guard arrived < bytes.count else { return }
                arrived = min(arrived + step, bytes.count)
            case .framing(let count): start += count
            case .data(let count):
                data += bytes[start..<start + count]
                body.didTake(count)
                start += count
            case .end:
                end = start
                return
            }
        }
    }
}

@Suite("Hostile HTTP parser")
struct HTTPParserTests {
    @Test(
        "line 101: a request that parties could read differently is a fault, however it arrives",
        arguments: HTTPFaults.heads + HTTPFaults.bodies)
    func faults(request: HTTPFaults.Case) {
        for step in [1, 2, 7, request.bytes.count] {
            #expect(throws: request.fault) { try Reading(request.bytes, step: step) }
        }
        #expect(!request.fault.description.isEmpty)
        #expect((400...505).contains(request.fault.status))
    }

    private struct Expected {
        var method = HTTPHead.Method.post
        var path = "/p"
        var query: String?
        var body = ""
        var keepsAlive = true
        var expectsContinue = false
    }

    private static let accepted: [(String, Expected)] = [
        ("GET /p HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .get)),
        ("HEAD /p? HTTP/1.1\r\nhOST: a:1\r\n\r\n", Expected(method: .head, query: "")),
        (
            "PUT /p?q=/?&x HTTP/1.1\r\nHost: [::1]:8\r\n\r\n",
            Expected(method: .put, query: "q=/?&x")
        ),
        ("DELETE /p HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .delete)),
        ("PATCH /p HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .other)),
        ("Put /p HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .other)),
        ("\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .options, path: "*")),
        ("GET http://b:1/p?q HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .get, query: "q")),
        ("GET https://b HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .get, path: "")),
        ("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .connect, path: "")),
        ("GET HtTp://b/p HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: .get)),
        ("GET /p HTTP/1.0\r\n\r\n", Expected(method: .get, keepsAlive: false)),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nConnection: a, Close\r\n\r\n",
            Expected(keepsAlive: false)
        ),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nConnection: a\r\nConnection: close\r\n\r\n",
            Expected(keepsAlive: false)
        ),
        ("POST /p HTTP/1.1\r\nHost: a\r\nconnection: closed\r\n\r\n", Expected()),
        ("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 003\r\n\r\nabc", Expected(body: "abc")),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length:\t 3 \t\r\nExpect: 100-Continue\r\n\r\n"
                + "abc",
            Expected(body: "abc", expectsContinue: true)
        ),
        (
            "POST /p HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na",
            Expected(body: "a", keepsAlive: false)
        ),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "3\r\nabc\r\n0000000A\r\n0123456789\r\n0\r\n\r\n", Expected(body: "abc0123456789")
        ),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;a=\"b;c\"\r\nabc\r\n0000000000003 \t;\u{E9}\r\ndef\r\n0;last\r\n\r\n",
            Expected(body: "abcdef")
        ),
        ("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Expected()),
        (
            "POST /p HTTP/1.1\r\nHost: a\r\nA!#$%&'*+-.^_`|~: \u{E9}\t\"b\"\r\nB:\r\n\r\n",
            Expected()
        ),
    ]

    @Test("requests that are accepted, however they arrive", arguments: accepted.indices)
    func requests(index: Int) throws {
        let (text, expected) = Self.accepted[index]
        let bytes = Array(text.utf8)
        for step in [1, 3, bytes.count] {
            let reading = try Reading(bytes, step: step)
            let head = try #require(reading.head)
            #expect(head.method == expected.method)
            #expect(bytes.span.extracting(head.path).httpText == expected.path)
            #expect(head.query.map { bytes.span.extracting($0).httpText } == expected.query)
            #expect(head.keepsAlive == expected.keepsAlive)
            #expect(head.expectsContinue == expected.expectsContinue)
            #expect(String(decoding: reading.data, as: UTF8.self) == expected.body)
            #expect(reading.end == bytes.count)
        }
        // No proper prefix is a request.
        for count in 0..<bytes.count {
            #expect(try Reading(Array(bytes[..<count]), step: 5).end == nil)
        }
    }

    private static let hosts = [
        "a", "a.example", "a_b-c~d.example", "127.0.0.1", "1.2.3.4.5", "a:", "a:0", "a:65535",
        "[::]", "[::1]", "[::1]:7445", "[1::]", "[1:2:3:4:5:6:7:8]", "[1::3:4:5:6:7:8]",
        "[FE80::0a]", "[::ffff:127.0.0.1]", "[1:2:3:4:5:6:1.2.3.4]", "a%2eb", "tmp%2Fs.sock:1",
    ]
    private static let invalidHosts = [
        ":", ":80", "a:65536", "a:000080", "a:-1", "a:b", "a:1:2", "a,b", "a%2", "a%g0", "a%0g",
        "%", "a!b",
        "a b",
        "é", "a@b", "a?b", "[]", "[:]", "[::1", "[::1]]", "[::1]a", "[::1].evil", "[::1]:x",
        "[::1]:80:", "x[::1]", "::1", "[1]", "[:1]", "[1:]", "[:::]", "[1::2::3]",
        "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2:3:4:5:6:7:8]", "[00001::]", "[g::]",
        "[fe80::1%1]", "[::1.2.3]", "[::1.2.3.4.5]", "[::256.1.1.1]", "[::01.1.1.1]",
        "[::1.2.3.4:1]", "[1:2:3:4:5:6:7:1.2.3.4]", "[v1.a]",
    ]

    @Test("Host and the host of a target are a name or an address, and a port")
    func hosts() throws {
        func head(_ target: String, host: String) throws(HTTPFault) -> HTTPHead? {
            try Reading(Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8), step: 999)
                .head
        }
        for host in Self.hosts {
            #expect(throws: Never.self, "\(host)") { try head("/", host: host) }
            #expect(throws: Never.self, "\(host)") { try head("http://\(host)/", host: "a") }
        }
        for host in Self.invalidHosts {
            #expect(throws: HTTPFault.invalidHost, "\(host)") { try head("/", host: host) }
        }
        for host in Self.invalidHosts where !host.contains(where: { " ?é".contains($0) }) {
            #expect(throws: HTTPFault.invalidHost, "\(host)") {
                try head("http://\(host)/", host: "a")
            }
        }
        // A Unix socket has no host.
        var limits = HTTPLimits()
        limits.needsHost = false
        for host in Self.hosts + Self.invalidHosts + ["", "/tmp/s.sock"] {
            var reader = HTTPHeadReader(limits: limits)
            let text = "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n"
            #expect(try reader.next(in: Array(text.utf8).span) != nil, "\(host)")
        }
        // The host of the target is the one that counts.
        let text = "GET http://b:1/ HTTP/1.1\r\nHost: a\r\n\r\n"
        let head = try #require(try Reading(Array(text.utf8), step: 9).head)
        let host = try #require(head[.host])
        #expect(Array(text.utf8).span.extracting(host).httpText == "b:1")
    }

    @Test("the limits of a head, at and above them")
    func limits() throws {
        func head(_ count: Int) -> [UInt8] {
            let start = "GET / HTTP/1.1\r\nHost: a\r\nA: "
            let filler = String(repeating: "b", count: count - start.utf8.count - 4)
            return Array((start + filler + "\r\n\r\n").utf8)
        }
        let limit = HTTPLimits().headBytes
        #expect(try Reading(head(limit), step: 1_000).end == limit)
        #expect(throws: HTTPFault.headTooLarge(limit: limit)) {
            try Reading(head(limit + 1), step: 1_000)
        }
    }

    @Test("fields without a meaning here are ignored, known ones are found in any case")
    func fields() throws {
        let text =
            "GET / HTTP/1.1\r\nhost: a\r\nX-Other: 1\r\nX-Other: 2\r\nORIGIN: https://b\r\n"
            + "authorization: Bearer c\r\nx-correlation-id: d\r\nsec-fetch-site: none\r\n"
            + "content-encoding: gzip\r\ncontent-type: e\r\n\r\n"
        let bytes = Array(text.utf8)
        let head = try #require(try Reading(bytes, step: 9).head)
        func value(_ field: HTTPField) -> String? {
            head[field].map { bytes.span.extracting($0).httpText }
        }
        #expect(value(.host) == "a" && value(.origin) == "https://b")
        #expect(value(.authorization) == "Bearer c" && value(.correlationId) == "d")
        #expect(value(.fetchSite) == "none" && value(.contentEncoding) == "gzip")
        #expect(value(.contentType) == "e" && value(.contentLength) == nil)
    }

    @Test(
        "parameters of a query",
        arguments: [
            ("", []), ("a=b", ["a", "b"]), ("a=b&c=d", ["a", "b", "c", "d"]),
            ("&&a", ["a", ""]), ("a==b", ["a", "=b"]), ("a=%41+%2B", ["a", "A +"]),
            ("%c3%A9=%26", ["\u{E9}", "&"]), ("a=%", nil), ("a=%4", nil), ("a=%4g", nil),
            ("a=%FF", nil), ("a=%C3", nil),
            (Array(repeating: "a", count: 65).joined(separator: "&"), nil),
        ] as [(String, [String]?)])
    func query(text: String, expected: [String]?) {
        let query = HTTPQuery(Array(text.utf8).span)
        #expect(query?.parameters.flatMap { [$0.name, $0.value] } == expected)
    }
}
