/// The rate limits of Apple's production, and a tenth of them in the sandbox. A second's requests
/// can come at once.
struct RateLimits: Sendable {
    private struct Bucket: Sendable {
        var tokens: Double
        var filled: Int64
    }

    private var buckets: [String: Bucket] = [:]

    /// Takes a request.
    ///
    /// - Parameter time: milliseconds since 1970 by the machine's clock.
    /// - Returns: nil if it is within the limit, or the time at which the next one is.
    mutating func take(_ endpoint: StoreEndpoint, _ environment: APIEnvironment, at time: Int64)
        -> Int64?
    {
        guard let rate = endpoint.rate else { return nil }
        let perSecond = Double(environment == .sandbox ? max(rate / 10, 1) : rate)
        let key = environment.rawValue + endpoint.rawValue
        var bucket = buckets[key] ?? Bucket(tokens: perSecond, filled: time)
        // A clock that steps back fills nothing.
        let elapsed = Double(max(time - bucket.filled, 0)) / 1000
        bucket.tokens = min(bucket.tokens + elapsed * perSecond, perSecond)
        bucket.filled = max(time, bucket.filled)
        defer { buckets[key] = bucket }
        guard bucket.tokens < 1 else {
            bucket.tokens -= 1
            return nil
        }
        return time + Int64(((1 - bucket.tokens) * 1000 / perSecond).rounded(.up))
    }
}
