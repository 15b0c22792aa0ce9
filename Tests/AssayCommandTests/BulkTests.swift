import Assay
import AssayBytes
import AssayClient
import AssayIO
import AssayModels
import AssayWire
import Glibc
import Testing

@testable import AssayCommand

/// Tests the parts of bulk verification that need no file and no thread.
@Suite("Bulk verification")
struct BulkTests {
    /// Splits a text that arrives in chunks of a size, with a limit of eight bytes.
    private static func split(_ text: String, chunk: Int) -> [String] {
        var splitter = LineSplitter(limit: 8)
        var lines: [String] = []
        func take(_ number: Int, _ line: LineSplitter.Line) {
            switch line {
            case .text(let text): lines.append("\(number):" + String(decoding: text, as: UTF8.self))
            case .tooLong: lines.append("\(number):TOO LONG")
            }
        }
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            let part = Array(bytes[start..<min(start + chunk, bytes.count)])
            splitter.receive(part.span, take)
        }
        splitter.finish(take)
        return lines
    }

    @Test(
        "lines end with LF or CRLF, and the last one with the file; each has its number",
        arguments: [
            ("", []), ("\n", ["1:"]), ("a", ["1:a"]), ("a\n", ["1:a"]), ("a\nb", ["1:a", "2:b"]),
            ("a\r\nb\r\n", ["1:a", "2:b"]), ("a\r", ["1:a"]), ("\r\n\r\n", ["1:", "2:"]),
            ("\n\na\n", ["1:", "2:", "3:a"]),
            // CR elsewhere belongs to the line.
            ("a\rb\n\rc\r\r\n", ["1:a\rb", "2:\rc\r"]),
            // The limit, with and without a line break.
            ("12345678\nb\n", ["1:12345678", "2:b"]), ("12345678\r\nb", ["1:12345678", "2:b"]),
            ("12345678", ["1:12345678"]), ("12345678\r", ["1:12345678"]),
            ("123456789\nb\n", ["1:TOO LONG", "2:b"]), ("123456789\r\nb", ["1:TOO LONG", "2:b"]),
            ("123456789", ["1:TOO LONG"]), ("12345678\rx\nb", ["1:TOO LONG", "2:b"]),
            (
                String(repeating: "x", count: 1000) + "\nb\n" + String(repeating: "y", count: 99),
                ["1:TOO LONG", "2:b", "3:TOO LONG"]
            ),
        ] as [(String, [String])])
    func lines(text: String, expected: [String]) {
        for chunk in [1, 2, 3, 7, 8, 9, 10, 5000] {
            #expect(Self.split(text, chunk: chunk) == expected, "chunks of \(chunk)")
        }
    }

    @Test("elements return in the order of their numbers, whatever the order of arrival")
    func order() {
        for arrival in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
            var buffer = ReorderBuffer<Int>()
            var returned: [Int] = []
            for number in arrival {
                buffer.insert(10 * number, at: number)
                while let next = buffer.popNext() { returned.append(next) }
                // Never later than possible.
                #expect(!arrival.prefix { $0 != number }.contains(buffer.next))
            }
            #expect(returned == [0, 10, 20, 30] && buffer.next == 4)
        }
        var buffer = ReorderBuffer<Int>()
        #expect(buffer.popNext() == nil)
        buffer.insert(1, at: 1)
        #expect(buffer.popNext() == nil)
    }

    @Test(
        "the evidence of a line, or the fault",
        arguments: [
            ("a.b.c", nil, .success("a.b.c")), ("{\"t\":\"x\"}", nil, .success("{\"t\":\"x\"}")),
            ("{\"t\":\"x\"}", "t", .success("x")),
            ("{\"a\":1,\"t\":\"\\u0041\"}", "t", .success("A")),
            ("{\"t\":\"x\"}", "T", .failure(.noMember("T"))),
            ("{\"a\":{\"t\":\"x\"}}", "t", .failure(.noMember("t"))),
            ("{\"t\":1}", "t", .failure(.memberNotString("t"))),
            ("{\"t\":null}", "t", .failure(.memberNotString("t"))),
            ("{\"t\":{\"x\":\"y\"}}", "t", .failure(.memberNotString("t"))),
        ] as [(String, String?, Result<String, BulkFault>)])
    func evidence(line: String, member: String?, expected: Result<String, BulkFault>) {
        let item = BulkItem(source: .line(1), content: .success(Array(line.utf8)))
        #expect(Self.evidence(item, member) == expected)
    }

    private static func evidence(
        _ item: BulkItem, _ member: String?
    ) -> Result<String, BulkFault> {
        do throws(BulkFault) {
            return .success(String(decoding: try item.evidence(member: member), as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    @Test("a line that is no JSON object, no UTF-8 or too long is a fault; a file can be DER")
    func faults() {
        for line in ["a.b.c", "[\"t\"]", "{\"t\":\"x\"", "{\"t\":\"x\",\"t\":\"y\"}", "{} {}"] {
            let item = BulkItem(source: .line(1), content: .success(Array(line.utf8)))
            guard case .failure(.notJSON) = Self.evidence(item, "t") else {
                Issue.record("accepted: \(line)")
                continue
            }
        }
        let der: [UInt8] = [0x30, 0x82, 0xFF]
        for (bytes, detail) in [(der, "write DER as base64"), ([0x1F, 0x8B, 0xFF], "gzip")] {
            let line = BulkItem(source: .line(1), content: .success(bytes))
            let fault = BulkFault.notUTF8(EvidenceForm.detect(bytes.span))
            #expect(Self.evidence(line, nil) == .failure(fault))
            #expect(Self.evidence(line, "t") == .failure(fault))
            #expect(fault.detail.contains(detail), "\(fault.detail)")
        }
        let file = BulkItem(source: .file("f"), content: .success(der))
        #expect(throws: Never.self) { try file.evidence(member: nil) }
        let long = BulkItem(source: .line(1), content: .failure(.lineTooLong(limit: 8)))
        #expect(Self.evidence(long, nil) == .failure(.lineTooLong(limit: 8)))
    }

    @Test("a fault's record has the source, the error and the detail; names are escaped")
    func records() {
        var text: [UInt8] = []
        BulkAnswer.fault(.noMember("t")).append(to: &text, at: .line(12))
        BulkAnswer.fault(.unreadable("no")).append(to: &text, at: .file("a\"\u{1b}\u{9b}b"))
        #expect(
            String(decoding: text, as: UTF8.self) == """
                {"line":12,"error":"NO_MEMBER","detail":"the object has no member \\"t\\""}
                {"file":"a\\"\\u001b\\u009bb","error":"UNREADABLE","detail":"no"}

                """)
    }

    @Test("what the server calls worth retrying is retried, with growing pauses, up to a limit")
    func retries() {
        func pause(_ status: Status, _ pause: UInt32, _ attempt: Int = 1) -> UInt32? {
            RetryRule.pause(
                after: .status(status, message: "", retryAfterMilliseconds: pause),
                attempt: attempt)
        }
        #expect(pause(.resourceExhausted, 300) == 300)
        #expect(pause(.resourceExhausted, 0) == nil)
        #expect(pause(.unavailable, 0) == RetryRule.shortestPause)
        #expect(pause(.unavailable, 70) == 70)
        #expect(pause(.unavailable, .max) == RetryRule.longestPause)
        #expect(pause(.resourceExhausted, 1, 3) == 4 * RetryRule.shortestPause)
        #expect(pause(.unavailable, 0, RetryRule.attempts - 1) == RetryRule.longestPause)
        #expect(pause(.unavailable, 0, RetryRule.attempts) == nil)
        #expect(RetryRule.pause(after: .connectionLost, attempt: 1) == RetryRule.shortestPause)
        for status in Status.allCases where status != .resourceExhausted && status != .unavailable {
            #expect(pause(status, 300) == nil, "\(status)")
        }
        for error in [
            ClientError.deadlineExceeded, .cancelled, .closed, .requestTooLarge, .tooManyWaiting,
            .protocolViolation(""),
        ] {
            #expect(RetryRule.pause(after: error, attempt: 1) == nil, "\(error)")
        }
    }

    @Test("counts add up; verdicts come first, in their order")
    func counts() {
        func answer(_ verdict: Verdict) -> BulkAnswer {
            .verified(.init(Verification(verdict: verdict, detail: "", kind: nil)))
        }
        var tally = BulkTally()
        tally.note(answer(.valid), bytes: 10)
        #expect(tally.isAllValid && !tally.hasTrouble)
        var other = BulkTally()
        other.note(answer(.wrongBundle), bytes: 5)
        other.note(.fault(.notUTF8(EvidenceForm.detect([0xFF].span))), bytes: 1)
        #expect(!other.isAllValid && !other.hasTrouble)
        other.note(answer(.malformed), bytes: 4)
        tally.add(other)
        tally.note(answer(.valid), bytes: 0)
        #expect(tally.items == 5 && tally.bytes == 20 && !tally.isAllValid)
        #expect(
            tally.summary(emptyLines: 2, seconds: 2) == """
                VALID 2
                MALFORMED 1
                WRONG_BUNDLE 1
                NOT_UTF8 1
                total 5 in 2.0 s, 2 per second; empty lines skipped: 2
                """)
        #expect(BulkTally().isAllValid)
        #expect(
            BulkTally().summary(emptyLines: 0, seconds: 0) == "total 0 in 0.0 s, 0 per second")
        for fault in [BulkFault.unreadable(""), .noAnswer("")] {
            var failed = BulkTally()
            failed.note(.fault(fault), bytes: 0)
            #expect(failed.hasTrouble && !failed.isAllValid)
            tally.add(failed)
            #expect(tally.hasTrouble)
        }
    }

    @Test("progress has a rate, and the remaining time where the size is known")
    func progress() {
        func text(_ total: Int?, _ done: Int, _ items: Int, _ seconds: Double) -> String {
            BulkProgress(total: total, done: done, items: items, seconds: seconds).text
        }
        #expect(text(nil, 500, 100, 2) == "100 items, 50 per second")
        #expect(text(1000, 0, 0, 2) == "0 items, 0 per second")
        #expect(text(1000, 250, 100, 2) == "100 items, 25 %, 50 per second, 6 s left")
        #expect(text(100_000, 250, 100, 2) == "100 items, 0 %, 50 per second, 13 min 18 s left")
        #expect(text(1_000_000, 100, 1, 2) == "1 items, 0 %, 0 per second, 5 h 33 min left")
        // A file that grew.
        #expect(text(1000, 2000, 100, 2) == "100 items, 100 %, 50 per second, 0 s left")
    }

    @Test("the window bounds items and bytes; an empty one accepts a batch of any size")
    func window() throws {
        let window = try BulkWindow(itemLimit: 10, byteLimit: 100)
        #expect(window.enter(items: 1, bytes: 1000))
        let entered = Locked(0)
        let pool = try WorkerPool(count: 1, name: "test-window")
        pool.submit {
            for (items, bytes) in [(10, 100), (9, 1), (1, 99), (1, 0)] {
                guard window.enter(items: items, bytes: bytes) else { break }
                entered.withLock { $0 += 1 }
            }
        }
        func expectEntered(_ count: Int) throws {
            for _ in 0..<500 where entered.withLock({ $0 }) < count { usleep(2000) }
            usleep(5000)
            #expect(entered.withLock { $0 } == count)
        }
        try expectEntered(0)
        window.leave(items: 1, bytes: 1000)
        try expectEntered(1)
        window.leave(items: 5, bytes: 50)
        try expectEntered(1)
        window.leave(items: 5, bytes: 50)
        try expectEntered(3)
        window.close()
        pool.stop()
        #expect(entered.withLock { $0 } == 3)
        #expect(!window.enter(items: 1, bytes: 1))
    }
}
