import AssayIO
import AssayWire

/// One connection and the script that it follows. Only the loop's thread uses it.
final class ScriptedConnection {
    private let stream: Stream
    private let timer: Timer
    private let script: [Statement]
    private let onEvent: (String) -> Void
    private let codec = MessageCodec()
    private let decoder = FrameDecoder()

    /// The index of the statement that runs or waits.
    private var position = 0
    private var isSleeping = false
    private var serves = false
    private var hasPeerClosed = false
    private var chunkBytes = Int.max
    private var requests: [RequestHead] = []
    /// Numbers of requests without an answer, in order.
    private var unanswered: [Int] = []
    /// The other half of a frame.
    private var held: [UInt8] = []
    /// Bytes that wait for their turn, in chunks.
    private var slow: [UInt8] = []

    init(
        _ stream: Stream, on loop: EventLoop, _ script: [Statement],
        onEvent: @escaping (String) -> Void
    ) throws(LoopError) {
        self.stream = stream
        self.script = script
        self.onEvent = onEvent
        timer = try Timer(on: loop)
    }

    /// Starts TLS, if there is a context, and the script.
    func start(_ context: TLSContext?) throws {
        stream.setHandler { [self] event in didHappen(event) }
        if let context { return try stream.secure(context) }
        // A script that pauses at once reads nothing.
        stream.resumeReading()
        run()
    }

    func close() {
        if !stream.isClosing { stream.close() }
        if !timer.isClosing { timer.close() }
    }

    private func didHappen(_ event: Stream.Event) {
        switch event {
        case .connected:
            stream.resumeReading()
            run()
        case .received: receive()
        case .ended, .failed:
            hasPeerClosed = true
            onEvent("end:@")
            if case .failed = event { stream.finish() }
            run()
            close()
        case .written, .closed: break
        }
    }

    private func receive() {
        while !stream.isClosing, let bytes = stream.received.unread {
            switch decoder.next(in: bytes.span) {
            case .frame(let frame):
                stream.received.skip(frame.end)
                let head = bytes.extracting(frame.head)
                guard let request = try? codec.decodeRequest(head.span) else {
                    onEvent("broken:@")
                    return close()
                }
                arrived(request, bodyCount: frame.body.count)
            case .needMore(let minimum): return stream.received.expect(minimum)
            case .head, .fault:
                onEvent("broken:@")
                return close()
            }
        }
    }

    private func arrived(_ request: RequestHead, bodyCount: Int) {
        requests.append(request)
        unanswered.append(requests.count)
        let app = request.app.isEmpty ? "" : ":app=" + request.app
        let waits = request.mayWait ? ":may-wait" : ""
        onEvent(
            "request:@.\(requests.count):\(Answer.name(request.call))"
                + ":timeout=\(request.timeoutMilliseconds)\(app)\(waits)"
                + Answer.details(request.call, bodyCount: bodyCount))
        if serves { answerAll() } else { run() }
    }

    // MARK: The script

    /// Runs statements until one has to wait.
    private func run() {
        while position < script.count, !isSleeping, slow.isEmpty, isReady(script[position]) {
            position += 1
            perform(script[position - 1])
        }
    }

    private func isReady(_ statement: Statement) -> Bool {
        switch statement {
        case .wait(let count): requests.count >= count
        case .untilClosed: hasPeerClosed
        default: true
        }
    }

    private func perform(_ statement: Statement) {
        switch statement {
        case .wait, .untilClosed: break
        case .answer(let selection, let options): answer(selection, options)
        case .half(let number):
            let frame = frame(for: number, nil)
            let middle = frame.count / 2
            held = Array(frame[middle...])
            write(Array(frame[..<middle]))
        case .rest:
            write(held)
            held = []
        case .notice(let options):
            write(Answer.frame(codec, nil, ResponseHead.connectionId, options))
        case .chunk(let count): chunkBytes = max(count, 1)
        case .bytes(let bytes): write(bytes)
        case .sleep(let milliseconds): sleep(milliseconds)
        case .pause: stream.pauseReading()
        case .read: stream.resumeReading()
        case .finish: stream.finish()
        case .close: close()
        case .serve:
            serves = true
            answerAll()
        }
    }

    private func sleep(_ milliseconds: UInt64) {
        isSleeping = true
        timer.start(afterMilliseconds: milliseconds) { [self] in
            isSleeping = false
            run()
        }
    }

    private func answerAll() {
        for number in unanswered {
            onEvent("answer:@.\(number)")
            write(frame(for: number, nil))
        }
        unanswered = []
    }

    private func answer(_ selection: Statement.Selection, _ options: AnswerOptions) {
        let numbers: [Int] =
            switch selection {
            case .one(let number): [number]
            case .call(let name): [unanswered.first { self.name($0) == name } ?? 0]
            case .all: unanswered
            case .reversed: unanswered.reversed()
            }
        unanswered.removeAll { numbers.contains($0) }
        for number in numbers {
            onEvent("answer:@.\(number)")
            write(frame(for: number, options))
        }
    }

    /// The call of the request with this number.
    private func name(_ number: Int) -> String { Answer.name(requests[number - 1].call) }

    private func frame(for number: Int, _ options: AnswerOptions?) -> [UInt8] {
        guard requests.indices.contains(number - 1) else {
            onEvent("script-error:@:no-request-\(number)")
            return []
        }
        let request = requests[number - 1]
        return Answer.frame(codec, request, request.id, options)
    }

    // MARK: Writing

    private func write(_ bytes: [UInt8]) {
        guard !stream.isClosing else { return }
        guard chunkBytes < bytes.count || !slow.isEmpty else { return stream.write(bytes) }
        let isIdle = slow.isEmpty
        slow += bytes
        if isIdle { writeChunk() }
    }

    private func writeChunk() {
        guard !stream.isClosing else { return }
        stream.write(Array(slow.prefix(chunkBytes)))
        slow.removeFirst(min(chunkBytes, slow.count))
        timer.start(afterMilliseconds: 1) { [self] in
            if slow.isEmpty { run() } else { writeChunk() }
        }
    }
}
