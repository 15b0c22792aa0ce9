package import AssayHTTP
import AssayIO

/// What the admin listener answers.
package protocol AdminPages: Sendable {
    /// The most bytes of the body that the answer needs; nil to answer without a body.
    func bodyLimit(of request: HTTPRequest) -> Int?

    /// Answers a request. One with a body can take seconds.
    func answer(_ request: HTTPRequest) -> HTTPResponse
}

/// Connects the pages of the admin listener to its server. Used on its loop's thread.
///
/// A request with a body can take seconds. Another thread makes its answer, one at a time, and
/// probes are answered meanwhile.
final class AdminHandler: HTTPSite {
    private let pages: any AdminPages
    private let loop: EventLoop
    private let worker: WorkerPool
    private var isMakingPage = false
    private var hasStopped = false
    /// Whether a page can't be made now.
    private var isBusy: Bool { isMakingPage || hasStopped }

    /// - Parameter worker: makes the pages with a body. The owner stops it after `stop`.
    init(_ pages: any AdminPages, on loop: EventLoop, by worker: WorkerPool) {
        self.pages = pages
        self.loop = loop
        self.worker = worker
    }

    func intake(of request: HTTPRequest) -> HTTPIntake {
        guard let limit = pages.bodyLimit(of: request) else {
            return .answer(Self.secured(pages.answer(request)))
        }
        return isBusy ? .answer(busy) : .body(limit: limit)
    }

    func answer(_ request: HTTPRequest, _ reply: HTTPReply) {
        guard !isBusy else { return reply.send(busy) }
        isMakingPage = true
        let (pages, loop) = (pages, loop)
        let waiting = LoopBound((self, reply), to: loop)
        worker.submit {
            let answer = pages.answer(request)
            loop.post {
                let (handler, reply) = waiting.value
                handler.isMakingPage = false
                reply.send(Self.secured(answer))
            }
        }
    }

    func problem(_ status: Int, _ reason: String) -> HTTPResponse {
        Self.secured(.text(status, reason))
    }

    /// Makes no further pages.
    func stop() { hasStopped = true }

    /// The answer with the fields of every answer.
    private static func secured(_ answer: HTTPResponse) -> HTTPResponse {
        var answer = answer
        for (name, value) in always where !answer.fields.contains(where: { $0.name == name }) {
            answer.fields.append((name, value))
        }
        return answer
    }

    private static let always = [
        ("Referrer-Policy", "no-referrer"),
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
                + "form-action 'self'"
        ),
    ]
}

extension HTTPResponse {
    static func text(
        _ status: Int, _ line: String, _ fields: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        HTTPResponse(status, fields: fields, body: Array("\(line)\n".utf8))
    }
}
