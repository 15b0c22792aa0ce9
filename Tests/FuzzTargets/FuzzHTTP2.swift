import AssayBytes
import AssayHTTP

/// HTTP/2: the session of nghttp2 with what is around it, without a server.
extension FuzzTarget {
    /// The bytes of a client. First byte: how the rest is divided. Second byte: whether two
    /// divisions are compared, or how the server answers. Invariants: those of `HTTP2Reading`, and
    /// the division changes nothing that arrives.
    static var http2: FuzzTarget {
        FuzzTarget(
            "HTTP2", seeds: seeds, words: ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
            mutate: { HTTP2Mutation.mutate($0, prefix: 2, &$1) }
        ) { bytes in
            guard bytes.count > 2 else { return }
            let step = Int(bytes[0]) + 1
            let all = HTTP2Connection.preface + bytes.array(2..<bytes.count)
            let manner = HTTP2Reading.Manner(bytes[1])
            let reading = HTTP2Reading(all, step: step, manner)
            guard manner == .silent, !reading.hasFailed else { return }
            let whole = HTTP2Reading(all, step: all.count, manner)
            precondition(whole.hasFailed || whole.isLike(reading), "the division changes it")
        }
    }

    private static var seeds: [[UInt8]] {
        let settings = HTTP2Mutation.Frame(type: 4).bytes
        let call = HTTP2Mutation.templates[0].bytes + HTTP2Mutation.templates[1].bytes
        let all = HTTP2Mutation.templates.flatMap(\.bytes)
        var unended = HTTP2Mutation.templates[1]
        unended.flags = 0
        let trailers = HTTP2Mutation.Frame(
            type: 1, flags: 5, stream: 1, content: HTTP2Mutation.literal("x", "y"))
        let trailed = HTTP2Mutation.templates[0].bytes + unended.bytes + trailers.bytes
        var seeds: [[UInt8]] = []
        for manner in UInt8(0)..<4 {
            seeds.append([255, manner] + settings + call)
            seeds.append([6, manner] + settings + call + all)
            seeds.append([6, manner] + settings + trailed)
            for template in HTTP2Mutation.templates {
                seeds.append([19, manner] + settings + call + template.bytes)
            }
        }
        return seeds
    }
}

/// What a connection of HTTP/2 has received, and what it answers. Invariants: every range of data
/// is in the bytes, each stream begins once and says nothing after its end, no more streams are
/// open than admitted, none begins behind the last one of a GOAWAY, the count of unwritten bytes is
/// that of all answers, and what is written are frames that RFC 9113 admits.
struct HTTP2Reading {
    /// What the server does with requests.
    enum Manner: UInt8 {
        /// Only reads.
        case silent
        /// Answers each request at once.
        case prompt
        /// Uses the data and answers after everything has arrived.
        case late
        /// Answers, and drains from the first request on.
        case draining

        init(_ byte: UInt8) { self = Self(rawValue: byte % 4)! }

        var limits: HTTP2Limits {
            self == .silent ? HTTP2Reading.highLimits : HTTP2Reading.lowLimits
        }
    }

    private struct Stream {
        var head: [UInt8] = []
        var data: [UInt8] = []
        var hasEnded = false
        var code: UInt32?
    }

    private let connection: HTTP2Connection
    private let manner: Manner
    private var streams: [Int32: Stream] = [:]
    /// Streams that have not closed.
    private var open: Set<Int32> = []
    private var unused: [(stream: Int32, count: Int)] = []
    private var output = HTTP2Output()
    private(set) var hasFailed = false

    /// Low, so that inputs of a few hundred bytes reach them.
    private static let lowLimits: HTTP2Limits = {
        var limits = HTTP2Limits()
        limits.streams = 4
        limits.headListBytes = 600
        limits.decodedBytes = 200
        limits.unreadAcks = 6
        limits.settings = 8
        limits.controlFrames = 24
        limits.resets = 6
        return limits
    }()

    /// A stream that the server resets counts until that is written, which depends on the
    /// division; so divisions are compared below all limits.
    private static let highLimits: HTTP2Limits = {
        var limits = HTTP2Limits()
        limits.streams = 100_000
        return limits
    }()

    init(_ bytes: [UInt8], step: Int, _ manner: Manner) {
        self.manner = manner
        connection = HTTP2Connection(manner.limits)
        var start = 0
        do throws(HTTP2Fault) {
            while start < bytes.count, !hasFailed {
                let end = min(start + step, bytes.count)
                try receive(bytes.span.extracting(start..<end))
                start = end
            }
            if manner == .late, !hasFailed { try answerAll() }
        } catch {
            hasFailed = true
        }
    }

    /// Whether the same requests have arrived. Of a request that is refused because it has more
    /// data than its length, the parts before the excess have arrived. Where both sides reset a
    /// stream, either is the first.
    func isLike(_ other: Self) -> Bool {
        guard streams.keys == other.streams.keys else { return false }
        for (number, stream) in streams {
            guard let same = other.streams[number] else { return false }
            let isWhole = stream.hasEnded
            guard stream.head == same.head, isWhole == same.hasEnded,
                isWhole
                    ? stream.data == same.data && (stream.code == nil) == (same.code == nil)
                    : stream.data.starts(with: same.data) || same.data.starts(with: stream.data)
            else { return false }
        }
        return true
    }

    // MARK: What arrives

    private mutating func receive(_ part: Span<UInt8>) throws(HTTP2Fault) {
        var start = 0
        repeat {
            var events: [HTTP2Event] = []
            let rest = part.extracting(start...)
            let used = try connection.receive(rest, into: &events)
            precondition(used > 0, "a step that uses no bytes")
            for event in events { take(event, rest) }
            start += used
        } while start < part.count
        try write()
        // A flood ends a server's connection. A peer that has said GOAWAY is not read once
        // nothing is left to be sent.
        if connection.meter.flood != nil || !connection.isOpen { hasFailed = true }
    }

    private mutating func take(_ event: HTTP2Event, _ bytes: Span<UInt8>) {
        switch event {
        case .refusedHead: break
        case .head(let number, let head):
            precondition(streams[number] == nil, "a stream begins twice")
            precondition(head.head.path.upperBound <= head.bytes.count)
            precondition(number <= output.last, "a stream behind the last of a GOAWAY")
            streams[number] = Stream(head: head.bytes)
            open.insert(number)
            precondition(open.count <= Int(manner.limits.streams), "more streams than admitted")
            if manner == .draining, streams.count == 1 { drain() }
        case .data(let number, let range):
            precondition(range.upperBound <= bytes.count && !range.isEmpty)
            use(range.count, of: number)
            // That of a head that was refused is dropped.
            guard let stream = streams[number] else { return }
            precondition(!stream.hasEnded, "data after the end")
            streams[number]?.data += bytes.array(range)
        case .end(let number):
            guard let stream = streams[number] else { return }
            precondition(!stream.hasEnded, "a request ends twice")
            streams[number]?.hasEnded = true
            if manner == .prompt || manner == .draining { answer(number, stream.data) }
        case .closed(let number, let code):
            precondition(streams[number]?.code == nil, "a stream closes twice")
            streams[number]?.code = code
            open.remove(number)
        case .pong: if manner == .draining { connection.end() }
        }
    }

    private mutating func use(_ count: Int, of number: Int32) {
        if manner == .late {
            unused.append((number, count))
        } else {
            connection.didUse(count, of: number)
        }
    }

    // MARK: Answers

    private static let head = HTTP2Fields([
        (":status", "200"), ("content-type", "application/grpc"),
    ])
    private static let trailers = HTTP2Fields([("grpc-status", "0")])

    private func drain() {
        connection.announceEnd()
        connection.ping()
    }

    /// Echoes the data of a request: without a body, with one and trailers, or in two parts.
    private func answer(_ number: Int32, _ data: [UInt8]) {
        if data.first == 0xFF { return connection.reset(number, .cancel) }
        let isLong = data.count > 4
        connection.answer(
            number, Self.head, body: isLong ? Array(data.dropFirst()) : [],
            trailers: isLong ? Self.trailers : nil, isOpen: data.count > 8)
        connection.append(data, to: number)
        connection.finish(number, trailers: Self.trailers)
    }

    private mutating func answerAll() throws(HTTP2Fault) {
        for (number, count) in unused { connection.didUse(count, of: number) }
        for (number, stream) in streams.sorted(by: { $0.key < $1.key })
        where stream.hasEnded && stream.code == nil { answer(number, stream.data) }
        try write()
    }

    private mutating func write() throws(HTTP2Fault) {
        var bytes: [UInt8] = []
        try connection.write(upTo: 1 << 20, into: &bytes)
        let none: [UInt8] = []
        var events: [HTTP2Event] = []
        connection.takeEvents(into: &events)
        for event in events { take(event, none.span) }
        output.read(bytes)
        var unwritten = 0
        for number in open { unwritten += connection.progress(of: number).unwritten }
        precondition(connection.unwrittenBytes == unwritten, "unwritten bytes of no answer")
    }
}

/// What the server has written: whole frames, none on a stream after its end.
struct HTTP2Output {
    /// The last stream of the latest GOAWAY.
    private(set) var last = Int32.max
    private static let status500: UInt8 = 0x8E
    private var ended: Set<Int32> = []
    private var reset: Set<Int32> = []

    mutating func read(_ bytes: [UInt8]) {
        var index = 0
        while index < bytes.count {
            precondition(bytes.count - index >= 9, "a part of a frame")
            let length = bytes[index..<index + 3].reduce(0) { $0 << 8 | Int($1) }
            let (type, flags) = (bytes[index + 3], bytes[index + 4])
            let stream = Self.number(bytes, index + 5)
            index += 9
            precondition(bytes.count - index >= length, "a part of a frame")
            switch type {
            case 0, 1:
                // An index of HPACK's static table.
                precondition(type == 0 || bytes[index] != Self.status500, "a status of 500")
                precondition(stream > 0 && !reset.contains(stream), "a frame after a reset")
                precondition(!ended.contains(stream), "a frame after the end of its stream")
                if flags & 1 != 0 { ended.insert(stream) }
            case 3: precondition(reset.insert(stream).inserted, "a second reset")
            case 7:
                let number = Self.number(bytes, index)
                precondition(number <= last, "the last stream of a GOAWAY goes up")
                last = number
            default: break
            }
            index += length
        }
    }

    private static func number(_ bytes: [UInt8], _ index: Int) -> Int32 {
        var number = UInt32(bytes[index] & 0x7F)
        for next in index + 1..<index + 4 { number = number << 8 | UInt32(bytes[next]) }
        return Int32(number)
    }
}
