/// What a frame may be. Configurable on a server; these are the defaults.
public struct FrameLimits: Hashable, Sendable {
    /// Largest frame in bytes, after its length field. A receipt with tens of thousands of in-app
    /// records has 16 MB, and 22 MB in Base64; 32 MiB leaves room for growth.
    public var frameBytes: Int
    /// Largest head in bytes. A request's has some hundred; with all expectations, and a long list
    /// of product ids, some thousand.
    public var headBytes: Int

    /// What no configuration may exceed: so long a frame would begin like another protocol.
    public static let largestFrame = 256 * 1024 * 1024

    public init(frameBytes: Int = 32 * 1024 * 1024, headBytes: Int = 64 * 1024) {
        self.frameBytes = frameBytes
        self.headBytes = headBytes
    }

    /// For a server.
    public static let request = FrameLimits()
    /// For a client: the head of an answer holds typed payloads. Those of the longest
    /// notification, with the JWS texts it carries, are less than twice its 256 KiB; the rest is
    /// room for servers with higher limits.
    public static let response = FrameLimits(headBytes: 2 * 1024 * 1024)
}

/// Limits beside those of a frame: defaults of a server, and of a client.
public enum RequestLimits {
    /// Requests in flight on one connection. More than a batch of every core holds, so that one
    /// pipelining client can use the machine, and few enough to be a bound on its memory.
    public static let inFlight = 1024
}
