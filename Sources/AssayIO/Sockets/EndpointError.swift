/// Why the text of an endpoint is invalid. The message has the text.
public struct EndpointError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// The text begins with no known scheme, such as `tcp://`, `tls://` or `unix:`.
        public static let unknownScheme = Reason("unknownScheme")
        /// No host name or address, or one with invalid characters.
        public static let noHost = Reason("noHost")
        /// No decimal port from 0 to 65535 after the last colon.
        public static let noPort = Reason("noPort")
        /// An IPv6 address without brackets, which separate its colons from the port's.
        public static let bareIPv6 = Reason("bareIPv6")
        /// No path after `unix:`.
        public static let noPath = Reason("noPath")
        /// The path of a Unix socket exceeds 107 bytes.
        public static let pathTooLong = Reason("pathTooLong")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension EndpointError: CustomStringConvertible {
    public var description: String { message }
}

extension EndpointError {
    package static func unknownScheme(_ text: String) -> Self {
        Self(
            .unknownScheme,
            "\"\(text)\" is not an address: write tcp://HOST:PORT, tls://HOST:PORT or unix:PATH")
    }

    package static func noHost(_ text: String) -> Self {
        Self(.noHost, "\"\(text)\" names no host: write tcp://HOST:PORT")
    }

    package static func noPort(_ text: String) -> Self {
        Self(.noPort, "\"\(text)\" has no port from 0 to 65535: write tcp://HOST:PORT")
    }

    package static func bareIPv6(_ text: String) -> Self {
        Self(
            .bareIPv6,
            "\"\(text)\": write an IPv6 address in brackets, as in tcp://[::1]:7443")
    }

    package static func noPath(_ text: String) -> Self {
        Self(.noPath, "\"\(text)\" names no path: write unix:PATH")
    }

    package static func pathTooLong(_ text: String) -> Self {
        Self(
            .pathTooLong,
            "\"\(text)\": the path of a Unix socket can have at most \(Endpoint.pathLimit) bytes")
    }
}
