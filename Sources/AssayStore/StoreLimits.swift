/// The limits of the client.
package enum StoreLimits {
    /// Bytes of one answer: those that the verifier accepts. A page of 20 of Apple's largest
    /// notifications has 600 KB.
    package static let answerBytes = 1024 * 1024
    /// Bytes of all header lines of one answer. Apple's take less than 1 KB.
    package static let headerBytes = 32 * 1024
    /// Bytes of a key file. Apple's have 257.
    package static let keyBytes = 4096
    /// Bytes of a request to sign in JSON. One of Advanced Commerce with 100 items has 20 KB.
    package static let signedBytes = 64 * 1024
    /// Bytes of an identifier in a path. Apple's have 9 to 60.
    package static let identifierBytes = 256
    /// Bytes of a revision or pagination token. Apple's have less than 100.
    package static let pageTokenBytes = 4096
    /// Bytes of the part of an error message that is kept. Apple's have less than 200.
    package static let messageBytes = 500
    /// Pages without an item, one after the other, that all promise more. Apple sends none.
    package static let emptyPages = 10
    /// Pages of one list, unless the caller names another limit: 20,000 transactions, which no
    /// customer has.
    package static let pages = 1000
    /// Attempts of one request. With the pauses between them they take half a minute.
    package static let attempts = 6
    /// Requests in flight. Apple counts requests a second, not connections; one connection of
    /// HTTP/2 carries them all.
    package static let requestsInFlight = 16
    /// Requests that wait for a connection or a rate. Beyond, the caller asks for more than Apple
    /// allows.
    package static let waitingRequests = 1000
    /// Milliseconds to connect, of those of the request.
    package static let connectMilliseconds: UInt64 = 10_000
}
