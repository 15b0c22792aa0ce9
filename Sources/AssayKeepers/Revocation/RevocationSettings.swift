import AssayTelemetry

/// Where a server's revocation statuses come from.
public struct RevocationSettings: Sendable, Equatable {
    /// Files and folders of OCSP responses and CRLs, which are read again when they change.
    public var files: [String]
    /// The hosts that are asked for statuses: names, with a port if it is not 80. Empty for none.
    public var hosts: [String]
    /// The folder that keeps what hosts answered; nil for none.
    public var state: String?
    /// The oldest good status that the policy accepts, in milliseconds; nil where it accepts any.
    public var maximumAge: Int64?

    /// Creates settings.
    public init(
        files: [String] = [], hosts: [String] = [], state: String? = nil, maximumAge: Int64? = nil
    ) {
        self.files = files
        self.hosts = hosts
        self.state = state
        self.maximumAge = maximumAge
    }

    /// Whether the text names a host, with a port if it is not 80.
    public static func isHost(_ text: String) -> Bool { RevocationLocation.host(text) != nil }
}

/// The limits of what a server fetches.
enum RevocationLimits {
    /// Time for one request, from the name's look-up to the last byte.
    static let requestMilliseconds: UInt64 = 10_000
    /// Time after that until a transport that never answers is given up.
    static let graceMilliseconds: UInt64 = 2_000
    /// Requests at a time. Apple's chains have about ten certificates.
    static let requestsInFlight = 4
    /// Time between two looks at the files.
    static let filesMilliseconds: UInt64 = 5_000
    /// Time after which the report is written again, if nothing has changed.
    static let reportMilliseconds: UInt64 = 60_000
    /// The first and the longest pause after failures.
    static let shortestPause: UInt64 = 60_000
    static let longestPause: UInt64 = 3_600_000
    /// Time after which a status without `nextUpdate` is asked for again.
    static let usualValidity: Int64 = 24 * 3_600_000
    /// Bytes of a file: the largest CRL as PEM.
    static let fileBytes = 8 << 20
    /// Characters of a location.
    static let locationBytes = 512
}
