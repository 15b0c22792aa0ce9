import Assay
import AssayBytes
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
import Foundation
import TestSupport
import Testing

/// Receipts at Apple's paths in bodies above the limit of JSON.
@Suite("large receipts of verifyReceipt", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HTTPLargeReceiptTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    /// The smallest limit of JSON. Receipts of these tests are larger.
    private static let limit = 64 << 10

    private static func receipt(_ environment: StoreEnvironment = .production) throws -> [UInt8] {
        var sample = ReceiptSample(
            bundleId: Minted.bundleId, appAppleId: environment == .production ? 9 : 0,
            environment: environment, creationDate: Minted.now)
        sample.records = .bytes(200_000)
        return try ReceiptMinter(Minted.receiptCA.get().chain).sign(sample.payload)
    }

    private static func with(
        jsonBytes: Int = limit, secret: String? = nil, _ body: (HTTPClient) throws -> Void
    ) throws {
        let trust = try TrustStore.apple.pinning(
            Minted.receiptCA.get().rootCertificate, development: false)
        let entry = AppEntry(
            verifier: Verifier(trust: trust, keyTables: .never),
            policy: Policy(bundleId: Minted.bundleId, environments: [.production, .sandbox]),
            secrets: AppSecrets(sharedSecret: secret))
        try withHTTPServer {
            $0.apps = ["game": entry]
            $0.limits.httpJSONBytes = jsonBytes
            $0.limits.frameBytes = 2 << 20
        } _: { test, endpoint in
            try body(try HTTPClient(endpoint))
        }
    }

    private static func json(
        _ base64: String, before: String = "", after: String = ""
    ) -> [UInt8] {
        Array("{\(before)\"receipt-data\":\"\(base64)\"\(after)}".utf8)
    }

    /// Bodies, and Apple's status of each.
    private static func cases() throws -> [(name: String, body: [UInt8], status: String)] {
        let base64 = Data(try receipt()).base64EncodedString()
        var broken = try receipt()
        broken[broken.count - 20] ^= 1
        let sandbox = Data(try receipt(.sandbox)).base64EncodedString()
        let lines = Data(try receipt()).base64EncodedString(options: .lineLength76Characters)
        let filler = String(repeating: "x", count: ReceiptEnvelope.textBytes)
        return [
            ("plain", json(base64), "0"),
            ("escapes", json(base64.replacing("/", with: "\\/")), "0"),
            ("unicode escapes", json(base64.replacing("+", with: "\\u002b")), "0"),
            ("lines", json(lines.replacing("\r\n", with: "\\r\\n")), "0"),
            ("members around", json(base64, before: "\"a\":[{}],", after: ",\"b\":null"), "0"),
            ("a changed signature", json(Data(broken).base64EncodedString()), "21003"),
            ("sandbox", json(sandbox), "21007"),
            ("half", json(String(base64.prefix(150_000))), "21002"),
            ("no base64", json(base64.replacing("A", with: "*")), "21002"),
            ("a token", json("eyJ" + base64), "21002"),
            ("a line break in the string", json(lines), "21002"),
            ("no end", Array(json(base64).dropLast(2)), "21002"),
            ("no member", Array("{\"receipt\":\"\(base64)\"}".utf8), "21002"),
            ("a list", Array("{\"receipt-data\":[\"\(base64)\"]}".utf8), "21002"),
            ("twice", json(base64, after: ",\"receipt-data\":\"MII\""), "21002"),
            ("long members before", json(base64, before: "\"a\":\"\(filler)\","), "21002"),
            ("long members after", json(base64, after: ",\"a\":\"\(filler)\""), "21002"),
            ("above the limit of a frame", json(String(repeating: "M", count: 3 << 20)), "21002"),
        ]
    }

    @Test("each is answered as the same body below the limit, with HTTP status 200")
    func statuses() throws {
        let cases = try Self.cases()
        func isOfLimit(_ name: String) -> Bool { name.hasPrefix("long") || name.hasPrefix("above") }
        var expected: [String: HTTPClient.Response] = [:]
        try Self.with(jsonBytes: 32 << 20) { client in
            for (name, body, _) in cases where !isOfLimit(name) {
                expected[name] = try client.ask(HTTPClient.post("/verifyReceipt", body))
            }
        }
        try Self.with { client in
            for (name, body, status) in cases {
                #expect(body.count > Self.limit)
                let response = try client.ask(HTTPClient.post("/verifyReceipt", body))
                #expect(response.status == 200, "\(name)")
                #expect(
                    response.member("status") == status, "\(name): \(response.text.prefix(300))")
                #expect(response.field("content-type") == "application/json")
                if isOfLimit(name) {
                    #expect(response.member("detail")?.isEmpty == false, "\(name)")
                } else {
                    #expect(
                        response.member("latest_receipt_info")
                            == expected[name]?.member("latest_receipt_info"), "\(name)")
                    #expect(expected[name]?.member("status") == status, "\(name)")
                }
                if response.field("connection") == "close" { break }
            }
            // The connection goes on.
        }
        // A body without a length is read whole, and has the limit of those.
        try Self.with { client in
            let body = Self.json(Data(try Self.receipt()).base64EncodedString())
            let response = try client.ask(HTTPClient.post("/verifyReceipt", body, chunk: 9_000))
            #expect(response.status == 200 && response.member("status") == "21002")
            #expect(response.member("detail")?.contains("limit of 65536") == true)
        }
    }

    @Test("the members beside the receipt count, wherever they are")
    func members() throws {
        let base64 = Data(try Self.receipt()).base64EncodedString()
        let password = "\"password\":\"\(Self.secret)\""
        let short = "\"exclude-old-transactions\":\"true\""
        try Self.with(secret: Self.secret) { client in
            var counts: [Int] = []
            for (before, after, status) in [
                (password + ",", "", "0"), ("", "," + password, "0"),
                (password + ",", "," + short, "0"), (short + ",", "," + password, "0"),
                ("", "", "21004"), ("\"password\":\"\",", "", "21004"),
                ("\"a\":{\(password)},", "", "21004"),
            ] {
                let body = Self.json(base64, before: before, after: after)
                let response = try client.ask(HTTPClient.post("/verifyReceipt", body))
                #expect(response.status == 200 && response.member("status") == status, "\(before)")
                guard status == "0" else { continue }
                let root = try JSONDocument.parse(response.body, limit: .max).root
                counts.append(root["latest_receipt_info"]?.elements.map { Array($0).count } ?? 0)
            }
            #expect(counts[0] == counts[1] && counts[2] == counts[3] && counts[2] < counts[0])
        }
    }

    @Test("a receipt arrives in slices of any size")
    func slices() throws {
        let body = Self.json(
            Data(try Self.receipt()).base64EncodedString().replacing("/", with: "\\/"))
        let request = HTTPClient.post("/verifyReceipt", body)
        try Self.with { client in
            for size in [997, 4096, 65_537] {
                var position = 0
                while position < request.count {
                    let end = min(position + size, request.count)
                    try client.send(Array(request[position..<end]))
                    position = end
                }
                #expect(try client.receive()?.member("status") == "0", "\(size)")
            }
        }
    }
}
