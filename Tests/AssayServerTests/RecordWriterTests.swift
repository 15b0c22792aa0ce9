import AssayModels
import Foundation
import TestSupport
import Testing

@testable import AssayIO
@testable import AssayKeepers
@testable import AssayServer
@testable import AssayTelemetry

/// The thread that writes records, without a thread: a simulated destination, and a clock of
/// the test.
@Suite struct RecordWriterTests {
    /// Takes what its script says, and keeps it.
    private final class ScriptedSink: RecordSink {
        enum Step { case takes(Int), fails(LoopError) }

        var text: [UInt8] = []
        var opened = 0
        /// What the next calls of `write` do; afterwards it takes everything.
        var steps: [Step] = []
        /// Milliseconds that a call of `write` takes.
        var writeMilliseconds: UInt64 = 0
        var milliseconds: UInt64 = 0
        /// Why it can't be prepared.
        var isMissing: LoopError?

        func open() throws(LoopError) { opened += 1 }

        func prepare() throws(LoopError) { if let isMissing { throw isMissing } }

        func write(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int {
            milliseconds += writeMilliseconds
            guard !steps.isEmpty else {
                text += bytes[start...]
                return bytes.count - start
            }
            switch steps.removeFirst() {
            case .takes(let count):
                text += bytes[start..<start + count]
                return count
            case .fails(let error):
                // Takes the beginning of a line back, as its protocol says.
                let end = text.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
                text.removeLast(text.count - end)
                throw error
            }
        }

        var lines: [String] {
            String(decoding: text, as: UTF8.self).split(separator: "\n").map { "\($0)" }
        }
    }

    private final class Events {
        var all: [RecordEvent] = []
    }

    private let log = RecordQueue(limit: 100)
    private let sink = ScriptedSink()
    private let events = Events()
    private let writer: RecordWriter

    init() throws {
        writer = RecordWriter(log, clock: { [sink] in sink.milliseconds }) { [events] in
            events.all.append($0)
        }
        try writer.use(sink)
    }

    private func add(_ lines: String...) {
        let text = lines.map { $0 + "\n" }.joined()
        log.add(RecordQueue.Chunk(bytes: Array(text.utf8), records: lines.count))
    }

    @Test("lines are written in their order, and counted")
    func writes() {
        add("one", "two")
        add("three")
        writer.turn(at: 0)
        add("four")
        writer.turn(at: 100)
        #expect(sink.lines == ["one", "two", "three", "four"])
        #expect(log.counts == RecordQueue.Counts(written: 4, lost: 0))
        #expect(events.all.isEmpty && sink.opened == 1)
    }

    @Test(
        "what a destination takes in parts has each line once, wherever it is cut",
        arguments: 1...8)
    func parts(count: Int) {
        add("one", "two")
        sink.steps = [.takes(count), .takes(0)]
        writer.turn(at: 0)
        #expect(log.counts.written == (count < 8 ? 0 : 2))
        writer.turn(at: 100)
        #expect(sink.lines == ["one", "two"] && log.counts.written == 2)
    }

    @Test(
        "a full disk loses no line before the queue is full, and no half of one", arguments: 1...7)
    func fullDisk(taken: Int) {
        add("one", "two")
        sink.steps = [.takes(taken), .fails(.other("ENOSPC"))]
        writer.turn(at: 0)
        #expect(events.all == [.takesNone(.other("ENOSPC"))])
        // Not tried again before a second has passed.
        writer.turn(at: 900)
        #expect(sink.lines.count <= 1 && log.counts.written == 0)
        sink.steps = [.fails(.other("ENOSPC"))]
        writer.turn(at: 1_000)
        #expect(events.all.count == 1)
        writer.turn(at: 2_000)
        #expect(sink.lines == ["one", "two"] && log.counts == .init(written: 2, lost: 0))
        #expect(events.all == [.takesNone(.other("ENOSPC")), .takesRecords])
    }

    @Test("lines above the bound are lost, counted, and logged at a bounded rate")
    func loses() {
        sink.isMissing = .connectionRefused
        writer.turn(at: 0)
        for _ in 0..<20 { add("0123456789") }
        writer.turn(at: 100)
        // Nine chunks of 11 bytes fit into 100.
        #expect(log.counts == .init(written: 0, lost: 11))
        #expect(events.all == [.takesNone(.connectionRefused), .lost(11)])
        // The lines that were taken count as waiting.
        add("0123456789", "0123456789")
        writer.turn(at: 10_099)
        #expect(events.all.count == 2 && log.counts.lost == 13)
        writer.turn(at: 10_100)
        #expect(events.all.last == .lost(2))
        sink.isMissing = nil
        writer.turn(at: 20_000)
        #expect(sink.lines.count == 9 && log.counts == .init(written: 9, lost: 13))
        add("0123456789")
        writer.turn(at: 20_100)
        #expect(log.counts == .init(written: 10, lost: 13) && events.all.last == .takesRecords)
    }

    @Test("where attempts are bounded, a chunk that is refused so often is lost, and no other")
    func attempts() throws {
        let writer = RecordWriter(log, attempts: 3, clock: { 0 }) { [events] in
            events.all.append($0)
        }
        try writer.use(sink)
        add("one", "two")
        add("three")
        let refusal = ScriptedSink.Step.fails(.other("the status 400"))
        sink.steps = [refusal, refusal, refusal]
        for turn in 0..<3 as Range<UInt64> {
            #expect(log.counts.lost == 0)
            writer.turn(at: turn * 1_000)
        }
        #expect(log.counts == .init(written: 0, lost: 2))
        #expect(events.all == [.takesNone(.other("the status 400")), .lost(2)])
        // What is accepted in between counts anew.
        sink.steps = [refusal, refusal]
        for turn in 3..<6 as Range<UInt64> { writer.turn(at: turn * 1_000) }
        #expect(sink.lines == ["three"] && log.counts == .init(written: 1, lost: 2))
        add("four")
        sink.steps = [refusal, refusal]
        for turn in 6..<9 as Range<UInt64> { writer.turn(at: turn * 1_000) }
        #expect(sink.lines == ["three", "four"] && log.counts == .init(written: 2, lost: 2))
    }

    @Test("the end writes what waits, or loses and logs it")
    func finishes() {
        add("one")
        writer.finish(at: 0)
        #expect(sink.lines == ["one"] && events.all.isEmpty)
        add("two", "three")
        sink.steps = [.takes(0)]
        writer.finish(at: 1)
        #expect(log.counts == .init(written: 1, lost: 2) && events.all == [.lost(2)])
    }

    @Test("a destination that takes everything slowly holds up neither a reload nor the end")
    func slow() {
        for _ in 0..<5 { add("0123456789") }
        sink.writeMilliseconds = 600
        // The second write begins within the second of a turn, and the third one would not.
        writer.turn(at: 0)
        #expect(log.counts == .init(written: 2, lost: 0))
        writer.turn(at: 100)
        #expect(log.counts == .init(written: 4, lost: 0))
        for _ in 0..<5 { add("0123456789") }
        // The last turn has two seconds.
        writer.finish(at: 200)
        #expect(log.counts == .init(written: 8, lost: 2) && events.all == [.lost(2)])
        #expect(sink.lines.count == 8)
    }

    @Test("another destination begins with a whole line")
    func replaces() throws {
        add("one", "two")
        sink.steps = [.takes(6), .takes(0)]
        writer.turn(at: 0)
        let other = ScriptedSink()
        try writer.use(other)
        writer.turn(at: 100)
        #expect(other.lines == ["two"] && other.opened == 1)
    }

    @Test("the thread is woken once when much waits")
    func hurries() {
        let calls = Locked(0)
        log.whenFull { calls.withLock { $0 += 1 } }
        for _ in 0..<4 { add("0123456789") }
        #expect(calls.withLock { $0 } == 0)
        for _ in 0..<3 { add("0123456789") }
        #expect(calls.withLock { $0 } == 1)
        writer.turn(at: 0)
        for _ in 0..<7 { add("0123456789") }
        #expect(calls.withLock { $0 } == 2)
    }
}

/// The destinations of the audit log.
@Suite struct AuditSinkTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/audit.jsonl" }

    private func content(_ path: String) -> String {
        String(decoding: (try? SystemFile.read(path, limit: 1 << 20)) ?? [], as: UTF8.self)
    }

    private func write(_ text: String, to sink: any RecordSink) throws {
        try sink.prepare()
        let bytes = Array(text.utf8)
        #expect(try sink.write(bytes, from: 0) == bytes.count)
    }

    @Test("a file is appended to, for its owner alone, and begun anew once it was renamed")
    func rotates() throws {
        let file = AuditFile(path)
        try file.open()
        try write("one\n", to: file)
        #expect(content(path) == "one\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)

        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        // Half a line stays with its beginning.
        try write("two\n", to: file)
        #expect(content(path) == "two\n" && content(path + ".1") == "one\n")
        try write("thr", to: file)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".2")
        try write("ee\n", to: file)
        #expect(content(path + ".2") == "two\nthree\n")
        try write("four\n", to: file)
        #expect(content(path) == "four\n")

        folder.remove("audit.jsonl")
        try write("five\n", to: file)
        #expect(content(path) == "five\n")
        let again = AuditFile(path)
        try again.open()
        try write("six\n", to: again)
        #expect(content(path) == "five\nsix\n")
    }

    @Test("what is no file, or can't be created, is an error")
    func unusable() {
        for path in [folder.path, folder.path + "/missing/audit.jsonl", "/dev/null"] {
            #expect(throws: LoopError.self) { try AuditFile(path).open() }
        }
    }

    @Test("a path that no socket can have is an error at once, and the longest one is none")
    func longPath() throws {
        try AuditSocket(String(repeating: "a", count: 107)).open()
        #expect(throws: LoopError.pathTooLong) {
            try AuditSocket(String(repeating: "a", count: 108)).open()
        }
    }

    @Test("a socket gets the lines; without a listener it is an error, until there is one again")
    func socket() throws {
        let path = folder.path + "/socket"
        let socket = AuditSocket(path)
        try socket.open()
        #expect(throws: LoopError.notFound) { try socket.prepare() }
        let listening = try UnixSocket.listen(path, SocketFileAccess(), backlog: 4).descriptor
        defer { close(listening) }
        for text in ["one\ntwo\n", "three\n"] {
            try write(text, to: socket)
            let connection = accept(listening, nil, nil)
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = unsafe read(connection, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == text)
            close(connection)
            #expect(throws: LoopError.connectionReset) {
                try socket.write(Array("lost\n".utf8), from: 0)
            }
        }
    }
}
