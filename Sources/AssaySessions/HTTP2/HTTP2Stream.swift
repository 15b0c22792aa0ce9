import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// A stream of HTTP/2: a request that is arriving, or whose answer is due or being written.
final class HTTP2Stream: HTTPExchange {
    /// Bytes that a stream counts for in the server's memory: itself, what nghttp2 has of it, and
    /// its entries in collections.
    static let memory = 2 << 10

    let number: Int32
    var style: HTTPResponseStyle
    /// The request has arrived.
    var isComplete = false
    /// The answer was given, or its head.
    var isAnswered = false
    /// The answers of a batch, whose lines are requests of their own.
    var lines: HTTPResponseOrder?
    /// The messages of a call that has a stream of them.
    var messages: HTTP2Messages?
    /// Whether no further line or message follows.
    var hasLastPart = false
    var pace: ArrivalPace
    var answerPace = AnswerPace()

    init(
        _ number: Int32, _ style: HTTPResponseStyle, _ body: HTTPHead.Body,
        among bodies: HTTPBodies, _ collected: consuming CollectedBytes, began: UInt64,
        at now: UInt64
    ) {
        self.number = number
        self.style = style
        pace = ArrivalPace(began: began, at: now)
        super.init(UInt64(number), body, among: bodies, collected, began: began)
    }

    /// The id of the request that is arriving: of the stream, or of a message on it.
    var arrivingId: UInt64 { receipt?.id ?? id }

    /// When its answer would come too late; nil if that is unknown before it is complete.
    func deadline(_ limits: ServerLimits) -> UInt64? {
        switch plan {
        case .receipt(let receipt): return receipt.deadline
        case .message(let call, _):
            let (usual, longest) =
                call.form.method == .fetch
                ? (limits.fetchTimeoutMilliseconds, limits.longestFetchTimeoutMilliseconds)
                : (limits.defaultTimeoutMilliseconds, limits.longestTimeoutMilliseconds)
            return began + UInt64(call.timeout == 0 ? usual : min(call.timeout, longest))
        case .skip, .evidence, .json, .resolve, .fetch, .sign, .lines, .messages: return nil
        }
    }

    /// Whether a line, a message or its receipt has begun to arrive.
    var holdsPart: Bool { dataCount > 0 || receipt != nil }

    /// Whether the client waits for news on it, or keeps it for later messages or lines.
    var isSilent: Bool { (messages?.isEmpty ?? lines?.isEmpty) == true && !holdsPart }

    /// The ids of its requests that are not answered: its own, or those of its lines or messages.
    var openIds: [UInt64] {
        let parts = lines?.openIds ?? messages?.openNumbers
        return parts?.map { $0 << 32 | id } ?? (isAnswered ? [] : [id])
    }
}

/// The pace at which the peer takes an answer. Times are milliseconds of the loop's clock.
struct AnswerPace {
    /// The bytes of the answer that were written, and those that were not, at this time.
    private var answer: (since: UInt64, written: Int, unwritten: Int)?

    /// Whether the peer's windows have held an answer back for too long: in the time of a write
    /// stall it took neither the answer nor what a second's slowest request would have.
    mutating func isStalled(
        written: Int, unwritten: Int, at now: UInt64, _ limits: ServerLimits
    ) -> Bool {
        guard unwritten > 0 else {
            answer = nil
            return false
        }
        guard let began = answer else {
            answer = (now, written, unwritten)
            return false
        }
        guard now > began.since + limits.writeStallMilliseconds else { return false }
        answer = (now, written, unwritten)
        return written - began.written < min(began.unwritten, limits.frameBytesPerSecond)
    }
}
