import AssayHTTP
import AssayIO
import AssayWire

/// The state of a connection that speaks HTTP: the request that is arriving, and the order of the
/// responses. Requests get ids in the order of their arrival. Answers come in any order, and each
/// waits here until those before it are written. Belongs to the loop's thread.
final class HTTPSession {
    /// The endpoint of the listener.
    let endpoint: Endpoint
    var reader = HTTPHeadReader()
    /// The request whose body is arriving; nil between requests.
    var front: HTTPFront?
    /// The data of a chunked body that is read whole, or of an incomplete line of a batch.
    var collected: CollectedBytes
    /// The recent arrival rate of a body that is read whole; nil without one.
    var bodyRate: ArrivalRate?
    /// The places of responses that are not written, in the order of their requests.
    private var places: [Place] = []
    /// Index in `places` of the next response.
    private var next = 0
    /// The id of the next response.
    private var nextId: UInt64 = 1
    /// Bytes of the responses that wait.
    private(set) var waitingBytes = 0

    private struct Place {
        var format: HTTPFormat
        /// The response, complete before its turn.
        var response: [UInt8]?
        /// Whether the client waits for an interim response before it sends the body.
        var awaitsInterim = false
    }

    init(_ endpoint: Endpoint, _ collected: consuming CollectedBytes) {
        self.endpoint = endpoint
        self.collected = collected
    }

    /// Lines of chunk sizes and line breaks that were read.
    private var framings: UInt64 = 0

    /// Whether the body that is arriving is read whole, and so held.
    var isCollecting: Bool { front?.plan.limit != nil }

    /// Drops the body that is arriving: the request is answered.
    func dropBody() {
        front?.plan = .skip
        collected.removeAll()
        bodyRate = nil
    }

    /// Counts the framing of a chunk. Returns the number of frames that it counts as in the
    /// connection's share of a turn.
    func didReadFraming() -> Int {
        framings &+= 1
        return framings % Self.framingsPerFrame == 0 ? 1 : 0
    }

    /// A chunk has two: four chunks, which take as long as the refusal of a frame. Chunks of one
    /// byte would keep the loop busy for milliseconds otherwise.
    private static let framingsPerFrame: UInt64 = 8

    /// Reserves the place of the next request's response.
    func begin(_ format: HTTPFormat) -> UInt64 {
        places.append(Place(format: format))
        return nextId + UInt64(places.count - next) - 1
    }

    private func place(_ id: UInt64) -> Int {
        precondition(id >= nextId, "a request is answered once")
        return next + Int(id - nextId)
    }

    func format(of id: UInt64) -> HTTPFormat { places[place(id)].format }

    /// Notes that the request is a Fetch.
    func setIsFetch(of id: UInt64) {
        var format = format(of: id)
        format.isFetch = true
        setFormat(of: id, format)
    }

    func setFormat(of id: UInt64, _ format: HTTPFormat) { places[place(id)].format = format }

    /// Sets whether the connection ends after this response.
    func setCloses(_ closes: Bool, after id: UInt64) { places[place(id)].format.closes = closes }

    /// Whether the request still needs its response.
    func isOpen(_ id: UInt64) -> Bool { id >= nextId && places[place(id)].response == nil }

    /// Whether the response is the next to be written.
    func isNext(_ id: UInt64) -> Bool { id == nextId }

    /// Keeps a response whose turn has not come.
    func keep(_ response: [UInt8], for id: UInt64) {
        waitingBytes += response.count
        places[place(id)].response = response
    }

    /// Records that the next response was written, and appends those that waited for it.
    ///
    /// - Returns: the number of responses written.
    func didWriteNext(into output: inout [UInt8]) -> Int {
        var count = 0
        repeat {
            if count > 0, let response = places[next].response {
                output += response
                waitingBytes -= response.count
            }
            places[next].response = nil
            next += 1
            nextId += 1
            count += 1
        } while next < places.count && places[next].response != nil
        if next < places.count, places[next].awaitsInterim {
            places[next].awaitsInterim = false
            output += HTTPResponse.interim
        }
        trim()
        return count
    }

    /// Asks the client to send the body, once the responses before this one are written.
    ///
    /// - Returns: whether that is now.
    func requestBody(of id: UInt64) -> Bool {
        if isNext(id) { return true }
        places[place(id)].awaitsInterim = true
        return false
    }

    /// Records that the body has begun without the interim response.
    func bodyHasBegun(of id: UInt64) { if isOpen(id) { places[place(id)].awaitsInterim = false } }

    private func trim() {
        if next == places.count {
            places.removeAll(keepingCapacity: places.count <= Self.keptPlaces)
            next = 0
        } else if next >= Self.keptPlaces, 2 * next >= places.count {
            places.removeFirst(next)
            next = 0
        }
    }

    /// Places whose memory an idle connection keeps.
    private static let keptPlaces = 16
}

/// A request whose body is arriving.
struct HTTPFront {
    let id: UInt64
    var body: HTTPBodyReader
    var plan: HTTPPlan
    /// Bytes of data that have arrived, of a body that is chunked or not read whole.
    var arrived = 0
    /// Bytes of the body, the sizes of chunks included, that were dropped.
    var skipped = 0
    /// Whether the connection ends after this request.
    var closes: Bool
    let isChunked: Bool
}

/// What happens to the body of a request.
enum HTTPPlan {
    /// It is dropped: the request is answered.
    case skip
    /// It is the evidence of this call, read whole.
    case evidence(HTTPQuestion, limit: Int)
    /// It is an app receipt, verified as it arrives: `Connection.arriving`.
    case receipt
    /// It is JSON, read whole.
    case json(HTTPJSONBody.Form, limit: Int)
    /// It is evidence of a Resolve, read whole.
    case resolve(app: String, limit: Int)
    /// It is a Fetch, read whole; of the app entry that the API key chose, if keys are needed.
    case fetch(app: String?, limit: Int)
    /// It is JSON on lines of their own, each answered by a line.
    case lines(HTTPFormat, limit: Int)

    var isSkip: Bool {
        if case .skip = self { true } else { false }
    }

    var isLines: Bool {
        if case .lines = self { true } else { false }
    }

    /// The limit of a body that is read whole.
    var limit: Int? {
        switch self {
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .lines(_, let limit):
            limit
        case .skip, .receipt: nil
        }
    }
}
