import AssayBytes
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Lines of the audit log, without a server.
@Suite struct AuditLineTests {
    private static func json(_ evidence: AuditEvidence) -> String {
        var writer = JSONWriter(escaping: .unprintable)
        writer.object { evidence.write(to: &$0) }
        return String(decoding: writer.text, as: UTF8.self)
    }

    @Test("evidence is text or Base64, up to a limit, and without secrets")
    func evidence() {
        let octets: [UInt8] = [0x30, 0x80, 0xFF]
        let named = Array(#"{"password":"secret","notification_type":"DID_RENEW"}"#.utf8)
        let large = [UInt8](repeating: UInt8(ascii: "a"), count: 64 << 10)
        let secret = #"{"evidenceOmitted":"secret"}"#
        let table: [([UInt8], EvidenceKind, String)] = [
            (Array("a.b.c".utf8), .transaction, #"{"evidence":"a.b.c"}"#),
            (Array(#"{"a":"\u1"}"#.utf8), .googlePurchase, #"{"evidence":"{\"a\":\"\\u1\"}"}"#),
            (octets, .appReceipt, #"{"evidenceBase64":"MID/"}"#),
            (named, .notificationV1, secret),
            (named, .transaction, secret),
            (Array(#"{"p\u0061ssw\u006Frd":1}"#.utf8), .transaction, secret),
            (Array(#"{"a":"{\"password\":1}"}"#.utf8), .transaction, secret),
            (
                Array(#"{"p\u0062ssword":1}"#.utf8), .transaction,
                #"{"evidence":"{\"p\\u0062ssword\":1}"}"#
            ),
            (Array(#"{"passwor"#.utf8), .transaction, #"{"evidence":"{\"passwor"}"#),
            (Array(#"{"p\u006"#.utf8), .transaction, #"{"evidence":"{\"p\\u006"}"#),
            (Array("{}".utf8), .notificationV1, secret),
            (Array(#"{"passwords":1}"#.utf8), .transaction, #"{"evidence":"{\"passwords\":1}"}"#),
            (large + [0], .transaction, #"{"evidenceOmitted":"size"}"#),
        ]
        for (bytes, kind, expected) in table {
            #expect(Self.json(AuditEvidence(bytes.span, .valid, as: kind, kind)) == expected)
        }
        let longest = Self.json(AuditEvidence(large.span, .valid, as: .transaction))
        #expect(longest.utf8.count == large.count + 15)
    }

    @Test("evidence that was not read as its kind is not in its line: it can be a secret")
    func unread() {
        let texts = [
            #"{"a":"{\u0022password\u0022:\u0022secret\u0022}"}"#, "password=secret",
            "%22password%22%3A%22secret%22", "eyJwYXNzd29yZCI6InNlY3JldCJ9", "a.b.c",
        ]
        for verdict in Verdict.allCases {
            let isRead = verdict != .malformed && verdict != .wrongKind
            for text in texts {
                let bytes = Array(text.utf8)
                let json = Self.json(AuditEvidence(bytes.span, verdict, as: .transaction))
                #expect((json == #"{"evidenceOmitted":"unread"}"#) == !isRead)
            }
        }
        // The reasons that say more come first.
        let named = Array(#"{"password":1}"#.utf8)
        #expect(
            Self.json(AuditEvidence(named.span, .malformed, as: .transaction))
                == #"{"evidenceOmitted":"secret"}"#)
    }

    @Test("a text that nobody signs is in a line up to the length of a store's names")
    func unsigned() {
        let longest = String(repeating: "A", count: 64)
        let table: [(String?, String?)] = [
            (nil, nil), ("", ""), ("DID_RENEW", "DID_RENEW"), (longest, longest),
            (longest + "A", nil), (String(repeating: "\u{2028}", count: 22), nil),
        ]
        for (text, written) in table { #expect(AuditLimits.unsigned(text) == written) }
    }

    @Test("refusals of one read that are alike share a line, which has their number")
    func alike() {
        let log = AuditLog()
        let batch = AuditBatch(log)
        let refusal = ResponseHead.overloaded(9, retryAfter: 4)
        batch.add(
            AuditLine(.verify, nil, refusal, count: 3, at: Minted.now), connection: nil, request: 9,
            nil)
        batch.flush()
        batch.flush()
        let chunks = log.take()
        #expect(
            String(decoding: chunks.flatMap(\.bytes), as: UTF8.self)
                == #"{"time":"\#(Minted.now.rfc3339Milliseconds)","request":9,"call":"Verify","#
                + #""status":"ResourceExhausted","reason":"overloaded","requests":3}"# + "\n")
        #expect(chunks.map(\.records) == [1])
    }

    @Test("times are those of RFC 3339, whatever the second before was")
    func times() {
        let log = AuditLog()
        let batch = AuditBatch(log)
        let second = Minted.now.milliseconds / 1000 * 1000
        let times = [0, 7, 99, 999, 1000, 60_010, -1].map {
            Timestamp(milliseconds: second + $0)
        }
        for time in times {
            let refusal = ResponseHead.overloaded(9, retryAfter: 4)
            batch.add(
                AuditLine(.verify, nil, refusal, count: 1, at: time), connection: 3, request: 9,
                nil)
        }
        batch.flush()
        let text = String(decoding: log.take().flatMap(\.bytes), as: UTF8.self)
        let begins = times.map {
            #"{"time":"\#($0.rfc3339Milliseconds)","connection":3,"request":9,"call""#
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count == times.count)
        for (line, begin) in zip(lines, begins) { #expect(line.hasPrefix(begin)) }
    }

    @Test("much is handed over at once, and the rest with the sweep")
    func gathers() {
        let log = AuditLog()
        let batch = AuditBatch(log)
        let line = AuditLine(.verify, nil, .overloaded(9, retryAfter: 4), count: 1, at: Minted.now)
        var count = 0
        while log.take().isEmpty {
            batch.add(line, connection: 1, request: 2, nil)
            count += 1
        }
        #expect(RecordLimits.gatheredBytes / (line.json.count + 80) < count)
        #expect(count <= RecordLimits.gatheredBytes / line.json.count)
        batch.flush()
        #expect(log.take().isEmpty)
    }
}
