import AssayIO

/// A request whose body arrives.
struct ArrivingRequest {
    private var request: HTTPRequest
    private var reader: HTTPBodyReader
    private var body: [UInt8] = []
    let limit: Int
    /// Whether the client waits for `100 Continue`.
    let awaitsInterim: Bool

    init(_ request: HTTPRequest, _ head: HTTPHead, limit: Int) {
        self.request = request
        reader = HTTPBodyReader(head.body)
        awaitsInterim = head.expectsContinue
        self.limit = limit
    }

    /// Whether the bytes that arrived, and those that are announced, exceed the limit.
    var isTooLarge: Bool { body.count + reader.announced > limit }

    var isComplete: Bool { reader.isEnded }

    /// The request with its body.
    var complete: HTTPRequest {
        var request = request
        request.body = body
        return request
    }

    mutating func next(in bytes: Span<UInt8>) throws(HTTPFault) -> HTTPBodyReader.Step {
        try reader.next(in: bytes)
    }

    mutating func append(_ data: SlabBytes) {
        body += data.array
        reader.didTake(data.count)
    }
}
