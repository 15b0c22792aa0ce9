import Assay
import AssayIO
import AssayModels
import AssayTelemetry

/// Keeps a server's statuses: reads files, asks hosts for what is due, and keeps the answers in the
/// state folder. One thread uses it, and gives it the time.
final class RevocationKeeper {
    let statuses: RevocationStatuses
    private var settings = RevocationSettings()
    private var hosts: Set<String> = []
    private var schedule: RefreshSchedule
    /// Nil if no host is configured.
    private var transport: (any RevocationTransport)?
    /// Runs a job on the keeper's thread.
    private let post: @Sendable (@escaping @Sendable (RevocationKeeper) -> Void) -> Void
    private let didChange: (RevocationReport) -> Void
    private let log: (RevocationEvent) -> Void

    private var files = WatchedFiles()
    /// Files that can't be read, and files that are no response or CRL, with the reason.
    private var unreadable: [String: String] = [:]
    private var unusable: [String: String] = [:]
    private var nextLook: UInt64 = 0
    private var requests: [RevocationReport.Outcome: UInt64] = [:]
    private var lastReport = RevocationReport()
    private var nextWrite: UInt64 = 0
    private(set) var now: UInt64 = 0
    private(set) var wall = Timestamp(milliseconds: 0)

    /// - Parameters:
    ///   - statuses: a store that reports what it finds to `found`.
    ///   - random: a number from 0 up to 1.
    ///   - post: runs a job on the thread that uses this object.
    ///   - didChange: called with each new report.
    init(
        _ statuses: RevocationStatuses, random: @escaping () -> Double,
        post: @escaping @Sendable (@escaping @Sendable (RevocationKeeper) -> Void) -> Void,
        didChange: @escaping (RevocationReport) -> Void,
        log: @escaping (RevocationEvent) -> Void
    ) {
        self.statuses = statuses
        schedule = RefreshSchedule(random: random)
        self.post = post
        self.didChange = didChange
        self.log = log
    }

    /// Sets the time.
    ///
    /// - Parameters:
    ///   - now: milliseconds that never step back.
    ///   - wall: the time that statuses are compared with.
    func advance(to now: UInt64, wall: Timestamp) {
        self.now = max(now, self.now)
        self.wall = wall
    }

    /// Stops all requests.
    func close() {
        transport?.close()
        transport = nil
    }

    /// Applies settings, and reads all files. Requests of the earlier transport end.
    func apply(_ new: RevocationSettings, askingBy transport: (any RevocationTransport)?) {
        close()
        self.transport = transport
        let isNewState = new.state != settings.state
        settings = new
        hosts = Set(new.hosts.compactMap(RevocationLocation.host))
        if isNewState { readState() }
        lookAtFiles(all: true)
        schedule.plan(now, wall: wall, maximumAge: settings.maximumAge)
        tick()
    }

    /// A chain with this certificate has validated.
    func found(_ cell: StatusCell) {
        schedule.add(cell, at: now, wall: wall, maximumAge: settings.maximumAge)
        tick()
    }

    /// Does what is due.
    func tick() {
        if now >= nextLook { lookAtFiles() }
        schedule.keep(Set(statuses.cells.map(\.id)))
        let limit = RevocationLimits.requestMilliseconds + RevocationLimits.graceMilliseconds
        if now >= limit {
            for (id, number) in schedule.overdue(since: now - limit) {
                didEnd(id, number, .failure(.timedOut))
            }
        }
        if let transport {
            let most = RevocationLimits.requestsInFlight
            for (entry, number) in schedule.start(at: now, hosts: hosts, most: most) {
                send(entry, number, by: transport)
            }
        }
        publish()
    }

    // MARK: Files

    private func lookAtFiles(all: Bool = false) {
        nextLook = now + RevocationLimits.filesMilliseconds
        let changes = files.look(at: settings.files, all: all)
        for path in changes.removed {
            statuses.remove(named: path)
            unusable[path] = nil
        }
        for (path, content) in changes.changed {
            do throws(RevocationError) {
                try statuses.add(content, named: path, at: wall)
                unusable[path] = nil
            } catch {
                // The operator has replaced the file, so its earlier statuses do not count.
                statuses.remove(named: path)
                unusable[path] = error.description
                log(.fileNotUsed(path: path, reason: error.description))
            }
        }
        var problems: [String: String] = [:]
        for (path, problem) in changes.problems { problems[path] = problem }
        for (path, problem) in problems where unreadable[path] != problem {
            log(.fileNotUsed(path: path, reason: problem))
        }
        unreadable = problems
        if !changes.changed.isEmpty || !changes.removed.isEmpty {
            schedule.plan(now, wall: wall, maximumAge: settings.maximumAge)
        }
    }

    /// Reads what hosts answered before the last restart. Each document is verified again.
    private func readState() {
        guard let folder = settings.state else { return }
        do throws(LoopError) {
            try SystemFile.createFolder(folder, mode: 0o700)
            for path in try RevocationFiles.expanded(folder) where Self.isState(path) {
                guard let content = try SystemFile.read(path, limit: RevocationFiles.largest)
                else { continue }
                do throws(RevocationError) {
                    try statuses.add(content, named: path, at: wall)
                } catch {
                    log(.fileNotUsed(path: path, reason: error.description))
                }
            }
        } catch {
            log(.stateNotKept(reason: error.description))
        }
    }

    private static func isState(_ path: String) -> Bool {
        path.hasSuffix(".ocsp") || path.hasSuffix(".crl")
    }

    /// The name of an answer: its file in the state folder. A revocation keeps its own, which no
    /// later answer replaces.
    private func name(
        _ id: CertificateID, isList: Bool, _ status: RevocationStatus
    ) -> String {
        let name = "\(id)" + (status.isFinal ? "-revoked" : "") + (isList ? ".crl" : ".ocsp")
        return settings.state.map { $0 + "/" + name } ?? name
    }

    // MARK: Requests

    private func send(
        _ entry: RefreshSchedule.Entry, _ number: UInt64, by transport: any RevocationTransport
    ) {
        guard let (location, isList) = entry.location(hosts) else { return }
        let (cell, post) = (entry.cell, post)
        let request = RevocationRequest(
            url: location.url,
            body: isList ? nil : OCSPRequest.der(of: cell.certificate, under: cell.issuer),
            byteLimit: isList ? Limits.revocationListBytes : Limits.ocspResponseBytes,
            timeout: RevocationLimits.requestMilliseconds)
        let id = cell.id
        transport.send(request) { result in
            post { keeper in
                keeper.didEnd(id, number, result, isList: isList)
                keeper.tick()
            }
        }
    }

    private func didEnd(
        _ id: CertificateID, _ number: UInt64, _ result: Result<[UInt8], RevocationRequestError>,
        isList: Bool = false
    ) {
        // It was given up, and possibly sent again.
        guard schedule.awaits(id, number: number), let cell = schedule.entries[id]?.cell else {
            return
        }
        switch result {
        case .failure(let error):
            didFail(id, RevocationReport.Outcome(error), error.message)
        case .success(let answer):
            accept(answer, for: cell, isList: isList)
        }
    }

    private func accept(_ answer: [UInt8], for cell: StatusCell, isList: Bool) {
        var kept = ""
        do throws(RevocationError) {
            let status = try statuses.accept(answer, for: cell, at: wall) { status in
                kept = name(cell.id, isList: isList, status)
                return kept
            }
            requests[.answered, default: 0] += 1
            if status.isFinal { log(.revoked(id: cell.id.description)) }
            if settings.state != nil { keep(answer, at: kept) }
            schedule.didSucceed(
                cell.id, at: now, wall: wall, maximumAge: settings.maximumAge)
        } catch {
            didFail(cell.id, .notUsed, error.description)
        }
    }

    private func keep(_ answer: [UInt8], at path: String) {
        do throws(LoopError) {
            try SystemFile.replace(path, answer, mode: 0o600)
        } catch {
            log(.stateNotKept(reason: error.description))
        }
    }

    private func didFail(
        _ id: CertificateID, _ outcome: RevocationReport.Outcome, _ problem: String
    ) {
        requests[outcome, default: 0] += 1
        if schedule.entries[id]?.problem != problem {
            log(.requestFailed(id: id.description, reason: problem))
        }
        schedule.didFail(id, problem, at: now)
    }

    // MARK: Report

    private func publish() {
        var report = RevocationReport()
        report.certificates = statuses.cells.map(row)
        report.documents = statuses.names.count
        report.files = unusable.merging(unreadable) { $1 }.sorted { $0.key < $1.key }
            .map { .init(path: $0.key, problem: $0.value) }
        report.requests = requests
        let isNew = report != lastReport
        if isNew {
            lastReport = report
            didChange(report)
        }
        // Written again sometimes, so that its date says whether the server runs.
        guard let folder = settings.state, isNew || now >= nextWrite else { return }
        nextWrite = now + RevocationLimits.reportMilliseconds
        keep(report.json(at: wall), at: folder + "/" + RevocationReport.fileName)
    }

    private func row(_ cell: StatusCell) -> RevocationReport.Certificate {
        let entry = schedule.entries[cell.id]
        let current = cell.current
        var row = RevocationReport.Certificate(
            id: cell.id.description, position: cell.position.rawValue,
            name: cell.certificate.subjectCommonName, serial: cell.certificate.serialText,
            status: current?.status, source: current?.name,
            problems: cell.problems.map { "\($0.name): \($0.error)" }, failures: 0)
        guard let entry else { return row }
        row.failures = entry.failures
        if let problem = entry.problem { row.problems.append(problem) }
        row.notAsked = notAsked(entry)
        if row.notAsked == nil, case .waits(let time) = entry.state {
            let left = time > now ? Int64(clamping: time - now) : 0
            // To the second, so that a report is new only where something changed.
            row.nextRefresh = Timestamp(
                milliseconds: (wall.milliseconds + left) / 1000 * 1000)
        }
        return row
    }

    private func notAsked(_ entry: RefreshSchedule.Entry) -> String? {
        if entry.state == .ended { return "it is revoked" }
        guard entry.location(hosts) == nil else { return nil }
        guard let location = entry.ocsp ?? entry.crl else {
            return "the certificate names no location of plain HTTP"
        }
        return "\(location.host) is not in hosts"
    }
}

/// What a keeper reports to the log.
enum RevocationEvent: Equatable {
    case fileNotUsed(path: String, reason: String)
    case stateNotKept(reason: String)
    case requestFailed(id: String, reason: String)
    case revoked(id: String)
}

extension RevocationReport.Outcome {
    init(_ error: RevocationRequestError) {
        switch error.reason {
        case .timedOut: self = .timedOut
        case .tooLarge: self = .tooLarge
        case .status: self = .httpStatus
        default: self = .unreachable
        }
    }
}
