import AssayIO

/// One POST of a notification to the backend. Used on its loop's thread.
final class NotificationPost {
    private var stream: AssayIO.Stream?
    private let timer: AssayIO.Timer
    private var received: [UInt8] = []
    private var onEnd: ((SendResult, Int?) -> Void)?

    /// Connects, posts, and reports the result once, with the status of the answer if there is one.
    static func start(
        _ body: [UInt8], to target: NotificationTarget, on loop: EventLoop,
        onEnd: @escaping (SendResult, Int?) -> Void
    ) {
        guard let timer = try? AssayIO.Timer(on: loop) else { return onEnd(.socketIssue, nil) }
        let post = NotificationPost(timer, onEnd)
        timer.start(afterMilliseconds: LocalStoreLimits.notificationMilliseconds) {
            post.end(.timedOut)
        }
        let request = target.post(body)
        do throws(LoopError) {
            post.stream = try AssayIO.Stream.connect(to: target.endpoint, on: loop) { event in
                post.handle(event, request)
            }
        } catch {
            post.end(.socketIssue)
        }
    }

    private init(_ timer: AssayIO.Timer, _ onEnd: @escaping (SendResult, Int?) -> Void) {
        self.timer = timer
        self.onEnd = onEnd
    }

    private func handle(_ event: AssayIO.Stream.Event, _ request: [UInt8]) {
        switch event {
        case .connected: stream?.write(request)
        case .received: read()
        case .ended: end(received.isEmpty ? .noResponse : .prematureClose)
        case .failed: end(received.isEmpty ? .socketIssue : .prematureClose)
        case .written, .closed: break
        }
    }

    private func read() {
        guard let stream, let unread = stream.received.unread else { return }
        received += unread.span.array
        stream.received.skip(unread.count)
        switch AnswerHead(received.span) {
        case .needMore: break
        case .invalid: end(.invalidResponse)
        // Apple takes 200 to 206 as success.
        case .status(let status):
            end((200...206).contains(status) ? .success : .unsuccessfulStatus, status)
        }
    }

    private func end(_ result: SendResult, _ status: Int? = nil) {
        guard let onEnd = onEnd.take() else { return }
        timer.close()
        stream?.close()
        stream = nil
        onEnd(result, status)
    }
}

extension Span<UInt8> {
    fileprivate var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}
