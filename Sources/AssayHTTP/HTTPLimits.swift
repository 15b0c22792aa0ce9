/// The size limits of a request's head.
package struct HTTPLimits: Hashable, Sendable {
    /// Bytes of the request line and the fields. Browsers and proxies send up to 8 KB.
    package var headBytes = 16 << 10
    /// Bytes of the request target. The longest that the server knows is a path with a dozen
    /// parameters.
    package var targetBytes = 8 << 10
    /// Number of fields. Browsers send about 20.
    package var fields = 100
    /// Whether a request has to name a host: `HTTPOriginPolicy.Binding.needsHost`.
    package var needsHost = true
    /// Number of parameters in a query.
    package static let parameters = 64

    package init() {}
}
