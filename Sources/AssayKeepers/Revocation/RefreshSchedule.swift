import Assay
import AssayModels
import AssayTelemetry

/// Decides when the status of each certificate is asked for. It has no clock: times are arguments,
/// milliseconds that never step back.
///
/// Only certificates of chains that validated are in it. A certificate has at most one request in
/// flight.
struct RefreshSchedule {
    /// One certificate.
    struct Entry {
        let cell: StatusCell
        /// Where to ask, in the order of preference: the OCSP responder, then the CRL.
        let ocsp: RevocationLocation?
        let crl: RevocationLocation?
        var state: State
        /// Failures since the last success.
        var failures = 0
        /// Why the last request failed; nil after a success.
        var problem: String?

        enum State: Equatable {
            case waits(until: UInt64)
            case inFlight(since: UInt64, number: UInt64)
            /// Not asked for: finally revoked.
            case ended
        }

        /// Where to ask, if the hosts are allowed.
        func location(_ hosts: Set<String>) -> (RevocationLocation, isList: Bool)? {
            if let ocsp, hosts.contains(ocsp.host) { return (ocsp, false) }
            if let crl, hosts.contains(crl.host) { return (crl, true) }
            return nil
        }
    }

    private(set) var entries: [CertificateID: Entry] = [:]
    private var lastNumber: UInt64 = 0
    /// A number from 0 up to 1.
    private let random: () -> Double

    init(random: @escaping () -> Double) { self.random = random }

    /// Adds a certificate. It is asked for at once, unless it has a status from elsewhere.
    mutating func add(_ cell: StatusCell, at now: UInt64, wall: Timestamp, maximumAge: Int64?) {
        guard entries[cell.id] == nil else { return }
        entries[cell.id] = Entry(
            cell: cell, ocsp: cell.certificate.ocspLocation.flatMap { RevocationLocation($0) },
            crl: cell.certificate.crlLocation.flatMap { RevocationLocation($0) },
            state: nextState(of: cell, now, wall, maximumAge))
    }

    /// Removes certificates that the verifier no longer knows.
    mutating func keep(_ known: Set<CertificateID>) {
        for id in entries.keys where !known.contains(id) { entries[id] = nil }
    }

    /// Makes every certificate wait for its next refresh by its status.
    mutating func plan(_ now: UInt64, wall: Timestamp, maximumAge: Int64?) {
        for id in Array(entries.keys) {
            // An operator can replace the file that said revoked.
            if case .inFlight = entries[id]!.state { continue }
            guard entries[id]!.failures == 0 else { continue }
            entries[id]!.state = nextState(of: entries[id]!.cell, now, wall, maximumAge)
        }
    }

    /// The certificates to ask for now, in the order of their waiting, and the numbers of their
    /// requests.
    mutating func start(
        at now: UInt64, hosts: Set<String>, most: Int
    ) -> [(entry: Entry, number: UInt64)] {
        let inFlight = entries.values.count {
            if case .inFlight = $0.state { true } else { false }
        }
        let due = entries.compactMap { id, entry -> (id: CertificateID, since: UInt64)? in
            guard case .waits(let time) = entry.state, time <= now,
                entry.location(hosts) != nil
            else { return nil }
            return (id, time)
        }.sorted { ($0.since, $0.id.description) < ($1.since, $1.id.description) }
        var started: [(entry: Entry, number: UInt64)] = []
        for (id, _) in due.prefix(max(0, most - inFlight)) {
            lastNumber += 1
            entries[id]!.state = .inFlight(since: now, number: lastNumber)
            started.append((entries[id]!, lastNumber))
        }
        return started
    }

    /// Whether this request is the one that the certificate waits for.
    func awaits(_ id: CertificateID, number: UInt64) -> Bool {
        guard case .inFlight(_, let current) = entries[id]?.state else { return false }
        return current == number
    }

    /// Records that a request succeeded.
    mutating func didSucceed(
        _ id: CertificateID, at now: UInt64, wall: Timestamp, maximumAge: Int64?
    ) {
        guard let entry = entries[id] else { return }
        entries[id]!.failures = 0
        entries[id]!.problem = nil
        entries[id]!.state = nextState(of: entry.cell, now, wall, maximumAge)
        guard case .waits(let time) = entries[id]!.state else { return }
        // A host can answer with a response that is old already: then there is nothing newer at
        // once. A quarter of what is left of its validity passes, and a minute at least.
        var pause = RevocationLimits.shortestPause
        if let end = entry.cell.current?.status.nextUpdate {
            pause = max(pause, UInt64(max(0, end.milliseconds - wall.milliseconds)) / 4)
        }
        entries[id]!.state = .waits(until: time > now ? time : now + pause)
    }

    /// Records that a request failed: the next one is in one minute, then twice as late each time,
    /// up to one hour.
    mutating func didFail(_ id: CertificateID, _ problem: String, at now: UInt64) {
        guard entries[id] != nil else { return }
        entries[id]!.failures += 1
        entries[id]!.problem = problem
        let doublings = min(entries[id]!.failures - 1, 10)
        let pause = min(
            RevocationLimits.shortestPause << UInt64(doublings), RevocationLimits.longestPause)
        // Up to a tenth later, so that many servers do not ask at the same second.
        entries[id]!.state = .waits(until: now + pause + UInt64(Double(pause) / 10 * random()))
    }

    /// The requests that are in flight since before this time: their transport never answered.
    func overdue(since time: UInt64) -> [(CertificateID, UInt64)] {
        entries.compactMap { id, entry in
            guard case .inFlight(let since, let number) = entry.state, since <= time else {
                return nil
            }
            return (id, number)
        }
    }

    /// Half of the validity, less up to a tenth of it, counted from `thisUpdate`. Of the maximum
    /// age too, if the policy has one.
    private func nextState(
        of cell: StatusCell, _ now: UInt64, _ wall: Timestamp, _ maximumAge: Int64?
    ) -> Entry.State {
        guard let status = cell.current?.status else { return .waits(until: now) }
        if status.isFinal { return .ended }
        var validity =
            status.nextUpdate.map { $0.milliseconds - status.thisUpdate.milliseconds }
            ?? RevocationLimits.usualValidity
        if let maximumAge { validity = min(validity, maximumAge) }
        let half = Double(validity) / 2
        let time = status.thisUpdate.milliseconds + Int64(half - half / 10 * random())
        return .waits(until: now + UInt64(max(0, time - wall.milliseconds)))
    }
}
