/// Size limits of a frame. A server can configure them; these are the defaults.
public struct FrameLimits: Hashable, Sendable {
    /// Largest frame in bytes, after its length field. A receipt with tens of thousands of in-app
    /// records has 16 MB, or 22 MB in Base64; 32 MiB leaves space for growth.
    public var frameBytes: Int
    /// Largest head in bytes. A request's head has a few hundred bytes; with all expectations and
    /// a long list of product ids, a few thousand.
    public var headBytes: Int

    /// Bytes of a frame's length field, which it does not count.
    public static let lengthBytes = 4

    /// The upper bound of any configuration: a longer frame could begin like another protocol.
    public static let largestFrame = 256 * 1024 * 1024

    /// Creates limits.
    public init(frameBytes: Int = 32 * 1024 * 1024, headBytes: Int = 64 * 1024) {
        self.frameBytes = frameBytes
        self.headBytes = headBytes
    }

    /// For a server.
    public static let request = FrameLimits()
    /// For a client: the head of a response holds typed payloads, and the entitlements of
    /// thousands of items. Its limit is that of a frame.
    public static let response = FrameLimits(headBytes: FrameLimits().frameBytes)
}

/// Limits other than those of a frame: defaults of a server and of a client.
public enum RequestLimits {
    /// Requests in flight on one connection. More than one batch for every core, so that one
    /// pipelining client can use the whole machine, and few enough to bound its memory.
    public static let inFlight = 1024
    /// Items in one Resolve. Years of a customer's purchases; a longer head would exceed its limit.
    public static let resolveItems = 4096
}
