import AssayModels
import Testing

@testable import AssayWire

/// A head that is compared with the last one is read as one that is decoded.
@Suite struct RecentHeadTests {
    /// Fields of heads after the id, in the protobuf encoding: those that most clients send, and
    /// their neighbours.
    private static let fields: [[UInt8]] = [
        [],
        // verify {}, {kind: 1}, {kind: 2}, {kind: 1, expectations {bundle_id: "a"}}
        [0x2A, 0], [0x2A, 2, 0x08, 1], [0x2A, 2, 0x08, 2],
        [0x2A, 7, 0x08, 1, 0x12, 3, 0x0A, 1, 97],
        // timeout_ms, app, traceparent before it
        [0x10, 9, 0x2A, 2, 0x08, 1], [0x22, 1, 97, 0x2A, 2, 0x08, 1],
        [0x1A, 1, 97, 0x2A, 2, 0x08, 1], trace("1"), trace("2"), [0x1A, 1, 0xFF, 0x2A, 2, 0x08, 1],
        // may_wait, another id, a second call, an unknown field, a wrong length after it
        [0x2A, 2, 0x08, 1, 0x48, 1], [0x2A, 2, 0x08, 1, 0x08, 9], [0x08, 9, 0x2A, 2, 0x08, 1],
        [0x2A, 2, 0x08, 1, 0x2A, 2, 0x08, 2], [0x78, 1, 0x2A, 2, 0x08, 1], [0x2A, 3, 0x08, 1],
        // health {}, and text that is not UTF-8
        [0x32, 0], [0x22, 1, 0xFF, 0x2A, 2, 0x08, 1],
        // Longer than what is kept.
        [0x22, 0xAC, 0x02] + [UInt8](repeating: 97, count: 300) + [0x2A, 2, 0x08, 1],
    ]

    private static func trace(_ digit: String) -> [UInt8] {
        let id = String(repeating: digit, count: 32)
        return [0x1A, 55] + Array("00-\(id)-b7ad6b7169203331-01".utf8) + [0x2A, 2, 0x08, 1]
    }

    private static let ids: [[UInt8]] = [[0x08, 5], [0x08, 6], [0x08, 0x80, 1], [0x08, 0], []]

    private static func result(
        _ decode: () throws(MessageError) -> RequestHead
    ) -> Result<RequestHead, MessageError> {
        do throws(MessageError) { return .success(try decode()) } catch { return .failure(error) }
    }

    @Test("one head after another is the head that decoding gives")
    func pairs() {
        let codec = MessageCodec()
        let heads = Self.fields.flatMap { fields in Self.ids.map { $0 + fields } }
        for first in heads {
            for second in heads {
                var recent = RecentHead()
                for bytes in [first, second, first] {
                    let expected = Self.result { () throws(MessageError) in
                        try codec.decodeRequest(bytes.span)
                    }
                    let found = Self.result { () throws(MessageError) in
                        try recent.decode(bytes.span, by: codec)
                    }
                    #expect(found == expected, "\(first), then \(second)")
                }
            }
        }
    }

    @Test("fields with an id beside them, after others, are the head that both give")
    func idsBesideFields() {
        let codec = MessageCodec()
        for first in Self.fields {
            for second in Self.fields {
                var recent = RecentHead()
                for (index, bytes) in [first, second, second, first].enumerated() {
                    let id = UInt64(index + 5)
                    let expected = Self.result { () throws(MessageError) in
                        var head = try codec.decodeRequest(bytes.span)
                        head.id = id
                        return head
                    }
                    let found = Self.result { () throws(MessageError) in
                        try recent.decode(bytes.span, id: id, by: codec)
                    }
                    #expect(found == expected, "\(first), then \(second)")
                    let whole = [0x08, 9] + second
                    let decoded = Self.result { () throws(MessageError) in
                        try recent.decode(whole.span, by: codec)
                    }
                    let same = Self.result { () throws(MessageError) in
                        try codec.decodeRequest(whole.span)
                    }
                    #expect(decoded == same, "\(first), then \(second)")
                }
            }
        }
    }
}
