import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// JSON that is written to be expensive: what an inspection and an explanation make of it has a
/// limit, and costs no more than in proportion to its length.
@Suite("Hostile: bounded inspection", .timeLimit(.minutes(1)))
struct BoundedInspectionTests {
    /// Texts of about `size` bytes, half of it names and half values that repeat them.
    private static func shapes(_ size: Int) -> [(name: String, json: String)] {
        let long = String(repeating: "n", count: size / 2)
        let count = size / 4
        let deep = (0..<16).map { _ in String(repeating: "d", count: size / 40) }
        let token = "\"ey.a.b\""
        func list(_ element: String, _ count: Int) -> String {
            "[" + repeatElement(element, count: count).joined(separator: ",") + "]"
        }
        let members = (0..<count / 3).map { "\"\($0)\":1" }.joined(separator: ",")
        return [
            ("a long name above a list", "{\"\(long)\":\(list("1", count))}"),
            ("a long name above lists", "{\"\(long)\":\(list("[[1]]", count / 4))}"),
            ("a long name above tokens", "{\"\(long)\":\(list(token, count / 5))}"),
            ("a long name above objects", "{\"\(long)\":\(list("{\"a\":1}", count / 4))}"),
            ("a long name above members", "{\"\(long)\":{\(members)}}"),
            ("a date with a long name", "{\"date\(long)\":\(list("1700000000000", count / 7))}"),
            (
                "long names at every depth",
                deep.map { "{\"\($0)\":" }.joined() + list("1", count)
                    + String(repeating: "}", count: deep.count)
            ),
            ("one long text", "{\"a\":\"\(long)\(long)\"}"),
        ]
    }

    /// What is made of a text, in bytes.
    private static func made(_ json: String) throws -> (paths: Int, fields: Int, output: Int) {
        let bytes = Array(json.utf8)
        let document = try JSONDocument.parse(bytes, limit: .max)
        var left = ExplanationLimits.contentBytes
        let fields = ExplanationFields(of: document.root, at: Fixture.now, within: &left)
        #expect(fields.shown.count <= ExplanationLimits.fields)
        let shown = fields.shown.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        #expect(left == ExplanationLimits.contentBytes - shown)
        let inspection = Inspection(bytes.span)
        // JSON that is no evidence.
        #expect(inspection.problems.count == 1 && inspection.nested.count <= 256)
        return (inspection.bytesMade, fields.bytesMade, shown)
    }

    @Test("132: the work is in proportion to the input, and the output has a limit")
    func linear() throws {
        for (short, long) in zip(Self.shapes(50_000), Self.shapes(100_000)) {
            let (small, large) = (try Self.made(short.json), try Self.made(long.json))
            #expect(large.paths <= 2 * small.paths + 1_000, "\(short.name): \(small) \(large)")
            #expect(large.fields <= 2 * small.fields + 1_000, "\(short.name): \(small) \(large)")
            // 400 fields with paths of at most 33 names, and 256 tokens.
            #expect(large.fields <= 4 * long.json.utf8.count + 400 * 4_000, "\(short.name)")
            #expect(large.paths <= 256 * 4_000, "\(short.name)")
            #expect(large.output <= 2 * small.output + 1_000, "\(short.name)")
        }
    }

    @Test("132: what the explanation of 400 KB prints has a limit") func output() {
        for (name, json) in Self.shapes(400_000) {
            let explanation = Explanation(
                Array(json.utf8).span, as: nil, trust: Fixture.verifier.trust,
                policy: Fixture.policy, at: Fixture.now)
            let count = explanation.json(next: []).count
            #expect(count < 2 * ExplanationLimits.contentBytes, "\(name)")
        }
    }

    @Test("132: evidence in members is limited at all depths together") func nested() {
        // A list of tokens, whose payloads have lists of tokens.
        let tokens = repeatElement("\"ey.a.b\"", count: 100).joined(separator: ",")
        let inner = "{\"a\":[\(tokens)]}"
        let payload = String(decoding: Base64URL.encode(Array(inner.utf8).span), as: UTF8.self)
        let token = "\"eyJ9.\(payload).a\""
        let outer = "{\"b\":[" + repeatElement(token, count: 100).joined(separator: ",") + "]}"
        func count(_ inspection: Inspection) -> Int {
            inspection.nested.reduce(inspection.nested.count) { $0 + count($1) }
        }
        let found = Inspection(Array(outer.utf8).span)
        #expect(count(found) == 256)
        #expect(found.nested.first?.nested.count == 100)
    }

    @Test("132: text that no evidence reaches is not read; a receipt is") func sizes() {
        let limit = 1 << 20
        func inspect(_ bytes: [UInt8]) -> Inspection { Inspection(bytes.span) }
        func object(_ size: Int) -> [UInt8] {
            Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: size - 8) + Array("\"}".utf8)
        }
        #expect(inspect(object(limit)).payload != nil)
        let long = inspect(object(limit + 1))
        #expect(long.payload == nil && long.problems.count == 2)
        #expect(long.payloadText?.hasSuffix("… (\(limit + 1) bytes)") == true)
        let longer = inspect(object(2 * limit + 1))
        #expect(longer.payload == nil && longer.problems[1].contains("not read"))
        #expect(longer.payloadText?.utf8.count ?? 0 < 2 * ExplanationLimits.textLength)
        for (start, isRead) in [("ey.", false), ("ey", false), ("MI", true)] {
            let bytes = Array(start.utf8) + [UInt8](repeating: 0x41, count: 3 * limit)
            let found = inspect(bytes)
            #expect(found.problems.contains { $0.contains("not read") } == !isRead, "\(start)")
        }
    }

    @Test("132: ids of records are shortened, and the newest records kept") func records() throws {
        let sample = MintedReceipts.sample(.count(250))
        var payload = ReceiptPayload()
        for attribute in sample.attributes { payload.append(attribute) }
        let long = [UInt8](repeating: 0x70, count: 3_000)
        let product = ReceiptAttribute(
            type: 1702, version: 1, value: DERWriter.header(tag: 0x0C, count: long.count) + long)
        let date = Array("2099-01-01T00:00:00Z".utf8)
        let bought = ReceiptAttribute(
            type: 1704, version: 1, value: DERWriter.header(tag: 0x16, count: date.count) + date)
        payload.append(ReceiptPayload.inApp([product, bought]))
        sample.appendRecords(to: &payload)
        let bytes = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(payload.bytes)
        let inspection = Inspection(bytes.span)
        #expect(inspection.recordCount == 251)
        let records = try #require(inspection.receipt).inApp
        #expect(records.count == ExplanationLimits.records)
        #expect(records.last?.productId?.hasSuffix("ppp… (3000 bytes)") == true)
        let json = try JSONDocument.parse(inspection.json, limit: .max)
        #expect(json.root["recordsOmitted"]?.int64 == 51)
        let explanation = Explanation(
            bytes.span, as: nil, trust: try MintedReceipts.verifier().trust,
            policy: MintedReceipts.policy, at: MintedReceipts.now)
        #expect(explanation.isVerified, "\(explanation.verification.detail)")
        #expect(explanation.contents[0].records.withoutKeys == records)
    }

    @Test("shortened text has whole characters and the number of all bytes") func shortened() {
        let table: [(text: String, limit: Int, shown: String)] = [
            ("", 0, ""), ("abc", 3, "abc"), ("abcd", 3, "abc… (4 bytes)"),
            ("aé", 2, "a… (3 bytes)"), ("aé", 3, "aé"), ("🎮🎮", 7, "🎮… (8 bytes)"),
            ("🎮", 3, "… (4 bytes)"), ("a\u{300}", 1, "a… (3 bytes)"),
        ]
        for (text, limit, shown) in table { #expect(text.shortened(to: limit) == shown) }
    }
}
