import Assay
import AssayIO
import AssayKeys
import AssayMint
import AssayModels
import Foundation

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
@testable import AssayKeepers

/// A keeper whose clock and transport are the test's.
final class SimulatedKeeper {
    /// 2026-01-01T00:00:00Z.
    static let start = Timestamp(milliseconds: 1_767_225_600_000)
    static let ca = try! DevelopmentCA.make(at: start)
    static let ocsp = "ocsp.example.com"
    static let crl = "crl.example.com"
    static let hour: Int64 = 3_600_000
    static let minute: UInt64 = 60_000

    /// A request that waits for its answer.
    final class Sent: Sendable {
        let request: RevocationRequest
        let completion: @Sendable (Result<[UInt8], RevocationRequestError>) -> Void

        init(
            _ request: RevocationRequest,
            _ completion: @escaping @Sendable (Result<[UInt8], RevocationRequestError>) -> Void
        ) {
            self.request = request
            self.completion = completion
        }
    }

    final class Transport: RevocationTransport {
        let sent = Locked<[Sent]>([])
        let isClosed = Locked(false)

        func send(
            _ request: RevocationRequest,
            completion: @escaping @Sendable (Result<[UInt8], RevocationRequestError>) -> Void
        ) {
            sent.withLock { $0.append(Sent(request, completion)) }
        }

        func close() { isClosed.withLock { $0 = true } }
    }

    private final class Queue: Sendable {
        let jobs = Locked<[@Sendable (RevocationKeeper) -> Void]>([])
    }

    let transport = Transport()
    let statuses: RevocationStatuses
    private(set) var reports: [RevocationReport] = []
    private(set) var events: [RevocationEvent] = []
    private let queue = Queue()
    private var keeper: RevocationKeeper!
    private var now: UInt64 = 1000
    var wall = SimulatedKeeper.start

    init(_ settings: RevocationSettings, random: Double = 0) {
        let queue = queue
        statuses = RevocationStatuses { cell in
            queue.jobs.withLock { $0.append { $0.found(cell) } }
        }
        keeper = RevocationKeeper(
            statuses, random: { random },
            post: { job in queue.jobs.withLock { $0.append(job) } },
            didChange: { [unowned self] in reports.append($0) },
            log: { [unowned self] in events.append($0) })
        keeper.advance(to: now, wall: wall)
        apply(settings)
    }

    func apply(_ settings: RevocationSettings) {
        keeper.apply(settings, askingBy: settings.hosts.isEmpty ? nil : transport)
        run()
    }

    /// Runs what was posted.
    func run() {
        while true {
            let jobs = queue.jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { job(keeper) }
        }
    }

    /// Lets time pass, and does what is due.
    func wait(_ milliseconds: UInt64) {
        now += milliseconds
        wall = Timestamp(milliseconds: wall.milliseconds + Int64(milliseconds))
        keeper.advance(to: now, wall: wall)
        keeper.tick()
        run()
    }

    var report: RevocationReport { reports.last ?? RevocationReport() }

    func row(_ position: String = "leaf") -> RevocationReport.Certificate? {
        report.certificates.first { $0.position == position }
    }

    /// The requests since the last call.
    func takeRequests() -> [Sent] {
        transport.sent.withLock { sent in
            defer { sent = [] }
            return sent
        }
    }

    /// Answers a request, and does what follows.
    func answer(_ sent: Sent, _ result: Result<[UInt8], RevocationRequestError>) {
        sent.completion(result)
        run()
    }

    // MARK: Evidence

    var verifier: Verifier {
        Verifier(
            trust: try! TrustStore.empty.pinning(Self.ca.rootCertificate, development: false),
            keyTables: .never, revocation: statuses)
    }

    /// Verifies a token, and runs what that posts.
    func verify(
        _ mode: RevocationPolicy = .soft, by verifier: Verifier? = nil,
        of chain: SigningChain = SimulatedKeeper.ca.chain,
        changing change: (inout [UInt8]) -> Void = { _ in }
    ) -> Verification {
        let payload = Samples.transaction(
            index: 1, bundleId: "com.example.app", appAppleId: 1, environment: .production,
            signedDate: Self.start)
        let token = try! Minter(chain).sign(payload, changingSignature: change)
        let answer = (verifier ?? self.verifier).verify(
            token.span, as: .transaction,
            policy: Policy(bundleId: "com.example.app", revocation: mode), at: wall)
        run()
        return answer
    }

    // MARK: Responses

    private static func serial(_ certificate: [UInt8]) -> [UInt8] {
        let parsed = try! Certificate(der: certificate)
        return Array(parsed.der[parsed.serialNumber])
    }

    /// A response about the leaf, or about the intermediate.
    func response(
        _ position: String = "leaf", _ state: OCSPResponseBuilder.State = .good,
        from: Int64 = 0, to: Int64 = 12 * SimulatedKeeper.hour, by key: SigningKey? = nil,
        serial: [UInt8]? = nil, certificates: [[UInt8]] = []
    ) -> [UInt8] {
        let isLeaf = position == "leaf"
        let issuer = isLeaf ? Self.ca.intermediateKey! : Self.ca.rootKey!
        let certificate = isLeaf ? Self.ca.leafCertificate : Self.ca.intermediateCertificate
        let single = OCSPResponseBuilder.Single(
            id: OCSPResponseBuilder.certificateID(
                issuerName: isLeaf ? DevelopmentCA.intermediateName : DevelopmentCA.rootName,
                issuerKey: issuer, serial: serial ?? Self.serial(certificate)),
            state: state, thisUpdate: Timestamp(milliseconds: wall.milliseconds + from),
            nextUpdate: Timestamp(milliseconds: wall.milliseconds + to))
        var builder = OCSPResponseBuilder(
            [single], producedAt: Timestamp(milliseconds: wall.milliseconds + from))
        builder.certificates = certificates
        if key?.coordinateSize == 32 { builder.signatureAlgorithm = .ecdsaWithSHA256 }
        return try! builder.signed(by: key ?? issuer)
    }

    /// A CRL of the root.
    func list() -> [UInt8] {
        let builder = RevocationListBuilder(
            issuer: DevelopmentCA.rootName, thisUpdate: wall,
            nextUpdate: Timestamp(milliseconds: wall.milliseconds + 24 * Self.hour))
        return try! builder.signed(by: Self.ca.rootKey!)
    }
}

/// A folder that is removed at the end.
final class TemporaryFolder {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "/revocation-\(UUID().uuidString)"
        try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ content: [UInt8]) {
        try! SystemFile.replace(path + "/" + name, content, mode: 0o600)
    }

    func remove(_ name: String) { try! SystemFile.remove(path + "/" + name) }

    var names: [String] { try! SystemFile.files(in: path) ?? [] }
}

extension Timestamp {
    func moved(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + milliseconds)
    }
}
