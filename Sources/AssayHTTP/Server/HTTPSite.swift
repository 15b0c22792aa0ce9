/// Answers the requests of an `HTTPServer`. Used on its loop's thread.
package protocol HTTPSite: AnyObject {
    /// Decides about a request whose head has arrived.
    func intake(of request: HTTPRequest) -> HTTPIntake

    /// Answers a request that has arrived completely, at once or later. While an answer is
    /// prepared, the connection has no time limit.
    func answer(_ request: HTTPRequest, _ reply: HTTPReply)

    /// The answer that reports an error, in the form of the site.
    func problem(_ status: Int, _ reason: String) -> HTTPResponse
}

extension HTTPSite {
    /// The answer where others use up what the request needs.
    package var busy: HTTPResponse {
        var answer = problem(503, "busy with other requests: try again")
        answer.fields.append(("Retry-After", "1"))
        return answer
    }
}

/// What happens to a request whose head has arrived.
package enum HTTPIntake {
    /// The answer needs no body. It is written at once, and the connection ends: a body can
    /// follow.
    case answer(HTTPResponse)
    /// The site answers once the body has arrived, of at most this number of bytes.
    case body(limit: Int)
}

/// Where the answer to one request goes. It does nothing once the answer is complete, or the
/// connection has closed. Used on the loop's thread.
package struct HTTPReply {
    private let connection: HTTPConnection
    private let number: UInt64

    init(_ connection: HTTPConnection, _ number: UInt64) {
        self.connection = connection
        self.number = number
    }

    /// Whether the connection still waits for the answer.
    package var isOpen: Bool { connection.isAwaitingAnswer(number) }

    package func send(_ answer: HTTPResponse) {
        write(bytes(of: answer))
        end()
    }

    // MARK: An answer in parts

    /// The bytes of the response, for `write`.
    package func bytes(of answer: HTTPResponse) -> [UInt8] {
        isOpen ? connection.bytes(of: answer) : []
    }

    /// Writes bytes of the response.
    package func write(_ bytes: [UInt8]) {
        if isOpen { connection.write(bytes) }
    }

    /// Ends the response.
    package func end() {
        if isOpen { connection.didAnswer() }
    }

    /// Ends the connection, also within a response.
    package func close() {
        if isOpen { connection.close() }
    }
}
