/// Requests by libcurl that need no token: for the status of certificates. It follows no
/// redirection. Loads libcurl with the first request.
package final class PlainTransport: Sendable {
    private let curl: CurlTransport

    /// Whether libcurl is there.
    package static var isAvailable: Bool { CurlLibrary.loaded != nil }

    /// - Parameter proxy: nil for that of the environment variables.
    package init(proxy: String?) throws(StoreTransportError) {
        curl = try CurlTransport(CurlSettings(proxy: proxy))
    }

    /// Sends one request.
    ///
    /// - Parameters:
    ///   - body: posted; nil to get.
    ///   - contentType: the type of the body.
    ///   - accept: the type of the answer.
    ///   - timeout: milliseconds for all of it.
    package func send(
        _ url: String, body: [UInt8]?, contentType: String, accept: String, byteLimit: Int,
        timeout: UInt64
    ) async throws(StoreTransportError) -> TransportAnswer {
        var request = TransportRequest(
            method: body == nil ? "GET" : "POST", url: url, token: nil, body: body,
            contentType: contentType, timeout: timeout)
        request.accept = accept
        request.byteLimit = byteLimit
        return try await curl.send(request)
    }

    /// Ends all requests.
    package func close() { curl.close() }
}
