/// What the caller decides, because Apple's evidence does not say it.
///
/// Accepted apps and environments belong to the verification of each item.
public struct EntitlementPolicy: Equatable, Sendable {
    /// Evidence older than this many milliseconds makes the answer stale; nil: never.
    public var maxAgeMilliseconds: Int64?
    /// How long after the end of its period a subscription in billing retry still entitles.
    public var billingRetryLeniencyMilliseconds: Int64 = 0
    /// Duration of non-renewing subscriptions in milliseconds, by product identifier. Apple's
    /// evidence does not carry it.
    public var durations: [String: Int64] = [:]
    /// Products of `durations` whose periods add up: the next one begins where the last one ends.
    public var stackedProducts: Set<String> = []
    /// How long after the end of its period a subscription stays entitled that nothing excludes
    /// from renewing: renewals reach backends minutes late.
    public var renewalLeniencyMilliseconds: Int64 = 0
    /// Leaves out what Apple signed later, as the caller knew it then; nil: everything counts.
    public var knownAt: Timestamp?
    /// Whether purchases that a family member shares entitle.
    public var acceptsFamilySharing = true
    /// The customer that the caller asks about: a UUID, compared without regard to ASCII case. What
    /// names another one does not entitle; what names none does.
    public var expectedAppAccountToken: String?

    /// Creates the default policy.
    public init() {}
}

extension EntitlementPolicy {
    /// Milliseconds of one day, the unit of the command line's options.
    public static let millisecondsPerDay: Int64 = 86_400_000
}
