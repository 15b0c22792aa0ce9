/// The last requests to the App Store Server API, for finding mistakes of the backend.
struct RequestLog: Sendable {
    struct Entry: Sendable {
        /// Milliseconds since 1970 by the machine's clock.
        var time: Int64
        var method: StoreMethod
        var path: String
        var environment: APIEnvironment
        var status: Int
        /// Why the answer is what it is, where it is not the usual one.
        var note: String?
    }

    /// Newest last.
    private(set) var entries: [Entry] = []
    private(set) var total = 0

    /// Characters of a path that are kept.
    private static let pathLength = 200

    mutating func add(
        _ request: StoreRequest, _ environment: APIEnvironment, _ status: Int, _ note: String?
    ) {
        total += 1
        if entries.count == LocalStoreLimits.requests { entries.removeFirst() }
        entries.append(
            Entry(
                time: request.time, method: request.method,
                path: String(request.path.prefix(Self.pathLength)), environment: environment,
                status: status,
                note: note))
    }
}
