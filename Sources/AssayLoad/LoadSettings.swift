package import AssayIO
import AssayWire

/// The settings of one load run.
package struct LoadSettings: Sendable {
    package var endpoint: Endpoint
    /// What is spoken there.
    package var loadProtocol: LoadProtocol
    package var pace: Pace
    package var connections: Int
    /// The maximum number of requests in flight on one connection. A closed loop keeps exactly
    /// this number in flight.
    package var depth: Int
    package var threads: Int
    /// The length of the measured part of the run, after the warm-up.
    package var duration: Duration
    package var warmUp: Duration
    package var timeout: Duration
    package var app: String
    /// Requests ask to be queued instead of refused.
    package var mayWait = false
    /// How long a request waits at most in this process while the connection takes no more; nil
    /// for its timeout.
    package var longestWait: Duration?
    /// The limit for the 99th percentile of lateness in an open loop, in nanoseconds.
    package var latenessLimit = LoadLimits.latenessNanoseconds
    /// The TLS settings for a TLS endpoint.
    package var tls: TLSContext?
    /// The process whose processor time is reported as the server's.
    package var serverProcess: Int32?

    /// The depth as the protocol has it. Without a depth, clients of HTTP/1.1 do not pipeline.
    var inFlight: Int {
        switch loadProtocol.framing {
        case .frames, .http2: depth
        case .http1: depth == LoadLimits.openDepth ? 1 : depth
        case .stream: min(depth, LoadLimits.depth)
        }
    }

    package init(
        endpoint: Endpoint, pace: Pace, connections: Int = 1, depth: Int, threads: Int = 1,
        duration: Duration = .seconds(10), warmUp: Duration = .seconds(2),
        timeout: Duration = .seconds(2), app: String = "", serverProcess: Int32? = nil
    ) {
        precondition(connections > 0 && depth > 0 && threads > 0)
        self.endpoint = endpoint
        loadProtocol = .usual(of: endpoint)
        self.pace = pace
        self.connections = connections
        self.depth = depth
        self.threads = min(threads, connections)
        self.duration = duration
        self.warmUp = warmUp
        self.timeout = timeout
        self.app = app
        self.serverProcess = serverProcess
    }
}

/// Determines when the next request is sent.
package enum Pace: Sendable, Equatable {
    /// Open loop: the clock sends requests, however slowly the server answers. `rate` is in
    /// requests per second.
    case open(rate: Double, Arrivals)
    /// Closed loop: each answer triggers the next request. A slow server receives fewer requests,
    /// so its latencies look better than they are.
    case closed
}

/// The distribution of the gaps between requests in an open loop.
package enum Arrivals: String, Sendable, CaseIterable {
    /// Equal gaps.
    case constant
    /// Exponentially distributed gaps, as from independent clients.
    case poisson
}

/// Fixed limits and their reasons.
package enum LoadLimits {
    /// The default lateness limit, 1 ms. The generator is late when the 99th percentile of
    /// lateness exceeds the limit. The latencies of interest are larger than this.
    package static let latenessNanoseconds: UInt64 = 1_000_000
    /// The minimum interval between sends in an open loop, 50 µs. Requests due within one
    /// interval go out together; at high rates, one timer wake-up per request would occupy a
    /// processor.
    static let sendingPeriod: UInt64 = 50_000
    /// An open loop that sends less than this share of its rate did not keep up.
    package static let smallestShareOfRate = 0.99
    /// The longest recorded latency, one minute. Request timeouts are shorter.
    package static let longestLatency: UInt64 = 60_000_000_000
    /// The number of minted evidence items of each kind. They exceed a processor's cache.
    package static let mintedItems = 1024
    /// The number of minted chains. It exceeds the number that a server remembers (256), so each
    /// chain is unknown again when its turn comes.
    package static let mintedChains = 1024
    /// The maximum number of connections in a run: a server's default limit.
    package static let connections = 10_000
    /// The maximum number of requests in flight on one connection: the server's limit.
    package static let depth = RequestLimits.inFlight
    /// The default depth of an open loop. It is high because the clock, not earlier answers,
    /// determines when a request is sent. The server refuses requests above its own limit.
    package static let openDepth = waiting
    /// The maximum number of threads in a run. One thread produces enough requests for several
    /// processors.
    package static let threads = 64
    /// The longest request timeout in seconds: the server's default maximum.
    package static let longestTimeout = 30
    /// The maximum of `LoadSettings.longestWait` in milliseconds: the longest timeout.
    package static let longestWait = longestTimeout * 1000
    /// The maximum number of requests in one process that wait for a connection.
    package static let waiting = 1_000_000
    /// The pause of a closed loop after a failure, in nanoseconds. Without it, a lost or
    /// overloaded server would receive requests as fast as this process can send them.
    static let pauseAfterFailure: UInt64 = 100_000_000
    /// The period of the check for requests past their deadline, in milliseconds.
    static let expiryMilliseconds: UInt64 = 50
    /// How long a connection can take to open, in nanoseconds.
    static let openingNanoseconds: UInt64 = 5_000_000_000
    /// Fixed seeds: two identical runs choose the same items at the same times. The seeds differ
    /// so that items and times are independent.
    static let mixSeed: UInt64 = 0x5EED_0000_0000
    static let scheduleSeed: UInt64 = 0xC10C_0000_0000
    /// The total size of the minted app receipts of one size, in bytes. It exceeds a processor's
    /// cache.
    static let mintedReceiptBytes = 64 << 20
    /// The maximum number of minted app receipts of one size.
    static let mintedReceipts = 64
}
