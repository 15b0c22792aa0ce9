import Assay
import AssayClient
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Synchronization
import TestSupport
import Testing

/// Evidence of this process's own authorities: one item of each kind, and some invalid items.
enum Minted {
    static let bundleId = "com.example.game"
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let authority = Result { () throws -> DevelopmentCA in try DevelopmentCA.make(at: now) }
    static let foreign = Result { () throws -> DevelopmentCA in try DevelopmentCA.make(at: now) }
    static let receiptCA = Result { () throws -> ReceiptCA in try ReceiptCA.make(at: now) }
    static let policy = Policy(bundleId: bundleId, environments: [.sandbox])

    static let jwsKinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    static func verifier(keyTables: KeyTableBuilding = .never) throws -> Verifier {
        let trust = try TrustStore.apple
            .pinning(authority.get().rootCertificate, development: true)
            .pinning(receiptCA.get().rootCertificate, development: true)
        return Verifier(trust: trust, keyTables: keyTables)
    }

    static func token(
        _ kind: EvidenceKind, index: Int = 0, bundleId: String = bundleId,
        environment: StoreEnvironment = .sandbox, by authority: DevelopmentCA? = nil
    ) throws -> [UInt8] {
        try Minter(authority?.chain ?? self.authority.get().chain).mint(
            kind, index: index, bundleId: bundleId, appAppleId: 1_234_567_890,
            environment: environment, signedDate: now)
    }

    /// A transaction: one period of a subscription. Each account has a subscription of its own.
    ///
    /// - Parameter number: the number of the period, from 0 on.
    /// - Parameter later: how long after now it is signed, in milliseconds.
    static func period(_ number: Int, account: Int = 1, later: Int64 = 0) throws -> [UInt8] {
        let original = 46_000 + account * 1_000
        let bought = now.milliseconds - 1_000
        let payload = """
            {"transactionId":"\(original + number)","originalTransactionId":"\(original)",\
            "bundleId":"\(bundleId)","environment":"Sandbox","productId":"premium",\
            "subscriptionGroupIdentifier":"2100","type":"Auto-Renewable Subscription",\
            "appAccountToken":"00000000-0000-0000-0000-00000000000\(account)",\
            "purchaseDate":\(bought),"expiresDate":\(bought + Int64(number + 1) * 60_000),\
            "signedDate":\(now.milliseconds + later)}
            """
        return try Minter(authority.get().chain).sign(Array(payload.utf8))
    }

    static let transaction = Result { () throws -> [UInt8] in try token(.transaction) }

    static func receipt(bytes: Int, bundleId: String = bundleId) throws -> [UInt8] {
        var sample = ReceiptSample(bundleId: bundleId, creationDate: now)
        sample.records = .bytes(bytes)
        return try ReceiptMinter(receiptCA.get().chain).sign(sample.payload)
    }

    /// Returns the token with one letter of its signature changed.
    static func tampered(_ token: [UInt8]) -> [UInt8] {
        var token = token
        let offset = token.count - 20
        token[offset] = token[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return token
    }
}

/// Keeps the lines of a server's log.
final class LogLines: LogSink {
    private let lines = Locked<[String]>([])
    private let changes = Changes()

    func write(_ line: String) {
        lines.withLock { $0.append(line) }
        changes.note()
    }

    func count(of text: String) -> Int { lines.withLock { $0.count { $0.contains(text) } } }

    /// Waits for a line with this text; returns false when there is none.
    func gets(_ text: String) -> Bool { changes.wait { count(of: text) > 0 } }
}

/// A clock that can hold one worker: each slice of work begins with a call of the clock.
final class HeldClock: Sendable {
    private let isArmed = Atomic(false)
    let isHeld = Latch()
    let release = Latch()

    private let calls = Atomic(0)

    func arm() { isArmed.store(true, ordering: .releasing) }

    /// The number of calls: one per slice of work and one per log line.
    var count: Int { calls.load(ordering: .relaxed) }

    @Sendable func now() -> Timestamp {
        calls.add(1, ordering: .relaxed)
        if isArmed.exchange(false, ordering: .acquiringAndReleasing) {
            isHeld.open()
            release.wait()
        }
        return Minted.now
    }
}

extension ServerConfiguration {
    /// Has a clock hold a thread that verifies: one for long work, since a worker's own would keep
    /// its sockets waiting.
    mutating func hold(by clock: HeldClock) {
        self.clock = clock.now
        self.handsOver = true
    }
}

extension ServerLimits {
    /// What ends a connection because of its peer's pace.
    private static var timeLimits: [WritableKeyPath<ServerLimits, UInt64>] {
        [
            \.handshakeMilliseconds, \.frameGraceMilliseconds, \.writeStallMilliseconds,
            \.drainMilliseconds,
        ]
    }

    private mutating func setTimeLimits(to milliseconds: UInt64) {
        for limit in Self.timeLimits { self[keyPath: limit] = milliseconds }
    }

    /// Sets the limits of a test that is not about time.
    mutating func setPatience() {
        drainQuietMilliseconds = 20
        // A debug build on a busy machine can fall behind any load that a test sends.
        queueDelayMilliseconds = UInt64(RawClient.patience)
        longestTimeoutMilliseconds = RawClient.patience
        // Nor is a client slow that waits for its processor. A test of a time limit sets it.
        setTimeLimits(to: UInt64(RawClient.patience))
    }

    /// Sets the defaults of the product, which a test server has not. For tests in which peers
    /// exceed them.
    mutating func useDefaultTimeLimits() {
        for limit in Self.timeLimits { self[keyPath: limit] = ServerLimits()[keyPath: limit] }
    }
}

extension AppEntry {
    func with(
        _ policy: Policy, unnamedEnvironments: [StoreEnvironment]? = nil
    ) -> AppEntry {
        AppEntry(verifier: verifier, policy: policy, unnamedEnvironments: unnamedEnvironments)
    }
}
