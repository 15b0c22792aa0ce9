package import AssayIO

/// The URL of a backend, to which notifications are posted.
package struct NotificationTarget: Sendable, Equatable {
    package let endpoint: Endpoint
    /// The value of Host.
    let host: String
    /// The path and the query.
    let path: String

    package enum Problem: Error, Equatable, Sendable {
        /// The URL begins with https://.
        case https
        /// Anything else that is no http:// URL.
        case invalid(String)
    }

    /// Stands for a URL to which an earlier process sent.
    static let earlier = NotificationTarget(.tcp(host: "127.0.0.1", port: 9), host: "", path: "")

    private init(_ endpoint: Endpoint, host: String, path: String) {
        self.endpoint = endpoint
        self.host = host
        self.path = path
    }

    /// Parses `http://HOST[:PORT][/PATH]`.
    package init(_ url: String) throws(Problem) {
        guard !url.lowercased().hasPrefix("https://") else { throw .https }
        guard url.hasPrefix("http://"), url.utf8.count <= 2048,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else { throw .invalid(url) }
        let rest = url.dropFirst("http://".count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.isEmpty, !authority.contains("@") else { throw .invalid(url) }
        let hasPort = authority.last != "]" && authority.contains(":")
        let path = rest[end...]
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
        host = String(authority)
        do throws(EndpointError) {
            endpoint = try Endpoint("tcp://" + authority + (hasPort ? "" : ":80"))
        } catch {
            throw .invalid(url)
        }
    }

    /// The head and the body of a POST.
    func post(_ body: [UInt8]) -> [UInt8] {
        let head = """
            POST \(path) HTTP/1.1\r
            Host: \(host)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            User-Agent: assay-store (development only)\r
            Connection: close\r
            \r

            """
        return Array(head.utf8) + body
    }
}

extension NotificationTarget.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .https:
            "the local store posts notifications without TLS: write http://HOST:PORT/PATH"
        case .invalid(let url): "\"\(url)\" is not a URL: write http://HOST:PORT/PATH"
        }
    }
}
