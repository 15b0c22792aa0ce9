import AssayIO
import AssayModels

/// The rate limits of one client: a bucket for each environment and class of call.
final class RateGate: Sendable {
    private struct Key: Hashable {
        let environment: StoreEnvironment
        let callClass: StoreCallClass
    }

    private let buckets = Locked<[Key: RateBucket]>([:])

    /// Takes a slot for a call. Returns nanoseconds to wait before it starts; nil, and no slot,
    /// if that is longer than `left`.
    func reserve(
        _ callClass: StoreCallClass, in environment: StoreEnvironment, at now: UInt64, left: UInt64
    ) -> UInt64? {
        let perSecond = callClass.perSecond(in: environment)
        return buckets.withLock { buckets in
            let key = Key(environment: environment, callClass: callClass)
            var bucket = buckets[key] ?? RateBucket(perSecond: perSecond)
            let start = bucket.start(at: now)
            guard start - now <= left else { return nil }
            bucket.take(start)
            buckets[key] = bucket
            return start - now
        }
    }

    /// Lets no call of the class start before a time: the App Store refused one for its rate.
    func close(_ callClass: StoreCallClass, in environment: StoreEnvironment, until time: UInt64) {
        let perSecond = callClass.perSecond(in: environment)
        buckets.withLock { buckets in
            let key = Key(environment: environment, callClass: callClass)
            buckets[key, default: RateBucket(perSecond: perSecond)].close(until: time)
        }
    }
}
