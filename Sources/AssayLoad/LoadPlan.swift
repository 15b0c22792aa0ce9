package import AssayIO
import AssayWire

/// What a run does to a server, and how.
package struct LoadPlan: Sendable {
    package var endpoint: Endpoint
    package var pace: Pace
    package var connections: Int
    /// Most requests in flight on one connection; of a closed loop, exactly as many.
    package var depth: Int
    package var threads: Int
    /// What is measured, after the warm-up.
    package var duration: Duration
    package var warmUp: Duration
    package var timeout: Duration
    package var app: String
    /// Requests say that they would rather wait than be refused.
    package var mayWait = false
    /// Nanoseconds that a hundredth of the requests of an open loop may go out late.
    package var latenessLimit = LoadLimits.latenessNanoseconds
    /// For an endpoint of TLS.
    package var tls: TLSContext?
    /// The process whose processor time is reported as the server's.
    package var serverProcess: Int32?

    package init(
        endpoint: Endpoint, pace: Pace, connections: Int = 1, depth: Int, threads: Int = 1,
        duration: Duration = .seconds(10), warmUp: Duration = .seconds(2),
        timeout: Duration = .seconds(2), app: String = "", serverProcess: Int32? = nil
    ) {
        precondition(connections > 0 && depth > 0 && threads > 0)
        self.endpoint = endpoint
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

/// Who decides when the next request goes out.
package enum Pace: Sendable, Equatable {
    /// The clock, however slowly the server answers: an open loop. Requests a second.
    case open(rate: Double, Arrivals)
    /// The server: an answer brings the next request, a closed loop. A slow server is asked less,
    /// so that its latencies look better than they are.
    case closed
}

/// The gaps between the requests of an open loop.
package enum Arrivals: String, Sendable, CaseIterable {
    /// All alike.
    case constant
    /// As those of independent clients: exponentially distributed.
    case poisson
}

/// Numbers that nobody needs to set, with their reasons.
package enum LoadLimits {
    /// A generator is late when a hundredth of its requests went out later than this, where nothing
    /// else was asked for: the latencies that people look at are above it.
    package static let latenessNanoseconds: UInt64 = 1_000_000
    /// An open loop sends no more often than this, 50 µs: what is due in between goes out together.
    /// At rates for which that matters a turn for each request would take a processor.
    static let sendingPeriod: UInt64 = 50_000
    /// An open loop that sends less than this share of its rate did not do what it says.
    package static let smallestShareOfRate = 0.99
    /// Latencies up to a minute are told apart; no answer is waited for that long.
    package static let longestLatency: UInt64 = 60_000_000_000
    /// Pieces of evidence of one kind that are minted; more than a processor's cache holds.
    package static let mintedPieces = 1024
    /// More chains than a server remembers (256): sent in turn, each is unseen again.
    package static let mintedChains = 1024
    /// Connections of a run: as many as a server has by default.
    package static let connections = 10_000
    /// Requests in flight on one connection: as many as a server takes.
    package static let depth = RequestLimits.inFlight
    /// Of an open loop, where nothing else was asked for: the clock decides when a request goes
    /// out, and not the answers to others. The server refuses what it does not take.
    package static let openDepth = waiting
    /// Threads of a run: one asks as much as several processors answer.
    package static let threads = 64
    /// Seconds that an answer is waited for: by default a server gives no request more.
    package static let longestTimeout = 30
    /// Requests of one process that wait for their turn on a connection.
    package static let waiting = 1_000_000
    /// A closed loop asks again this long after a failure: a server that is gone, or has too
    /// much to do, must not be asked as fast as this process can.
    static let pauseAfterFailure: UInt64 = 100_000_000
    /// The same run chooses the same items at the same times; two seeds, so that one has nothing
    /// to do with the other.
    static let mixSeed: UInt64 = 0x5EED_0000_0000
    static let scheduleSeed: UInt64 = 0xC10C_0000_0000
    /// Bytes of app receipts of one size that are minted; more than a processor's cache holds.
    static let mintedReceiptBytes = 64 << 20
    /// App receipts of one size at most.
    static let mintedReceipts = 64
}
