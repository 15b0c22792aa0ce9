import AssayBytes
import AssayIO
import AssayKeys
import AssayMint
import AssayModels
import TestSupport

@testable import AssayStore

/// An authority, minted answers, and a key: shared by all tests.
final class StoreFixture: Sendable {
    static let bundleId = "com.example.game"
    static let keyId = "2X9R4HXF34"
    static let issuerId = "57246542-96fe-1a63-e053-0824d011072a"
    /// 2026-01-15, in milliseconds.
    static let now: Int64 = 1_768_435_200_000

    static let shared: StoreFixture = {
        do { return try StoreFixture() } catch { fatalError("no fixture: \(error)") }
    }()

    let authority: DevelopmentCA
    let minter: Minter
    /// A key of App Store Connect's form, PEM. Of no value: made for this process.
    let keyText: [UInt8]
    let key: StoreKey

    private init() throws {
        authority = try DevelopmentCA.make(at: Timestamp(milliseconds: Self.now))
        minter = Minter(authority.chain)
        keyText = PEM.encode(try SigningKey(generating: .p256).pkcs8(), label: "PRIVATE KEY")
        key = try StoreKey(encoded: keyText, keyId: Self.keyId, issuerId: Self.issuerId)
    }

    /// A verifier that trusts the authority. OpenSSL is the fastest engine of a debug build.
    func verifier() throws -> Verifier {
        Verifier(
            trust: try TrustStore.apple.pinning(authority.rootCertificate, development: false),
            keyTables: .never,
            engine: EngineInUse(.openssl))
    }

    // MARK: Answers

    func transaction(
        _ index: Int, bundleId: String = bundleId,
        environment: StoreEnvironment = .production, signed: Int64 = now
    ) throws -> String {
        let token = try minter.mint(
            .transaction, index: index, bundleId: bundleId, appAppleId: 1,
            environment: environment, signedDate: Timestamp(milliseconds: signed))
        return String(decoding: token, as: UTF8.self)
    }

    /// A transaction with members of the test's choice after the usual ones of a non-consumable.
    func product(_ id: String, signed: Int64, revoked: Bool = false) throws -> String {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("transactionId", id)
            payload.member("originalTransactionId", id)
            payload.member("bundleId", Self.bundleId)
            payload.member("productId", "world.2")
            payload.member("purchaseDate", Self.now - 1000)
            payload.member("originalPurchaseDate", Self.now - 1000)
            payload.member("quantity", 1 as Int64)
            payload.member("type", "Non-Consumable")
            payload.member("inAppOwnershipType", "PURCHASED")
            payload.member("signedDate", signed)
            payload.member("environment", "Production")
            if revoked { payload.member("revocationDate", Self.now - 500) }
        }
        return String(decoding: try minter.sign(writer.text), as: UTF8.self)
    }

    /// A page of a history.
    static func page(
        _ tokens: [String], revision: String?, hasMore: Bool, bundleId: String = bundleId,
        environment: String = "Production"
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { page in
            page.member("revision", revision)
            page.member("bundleId", bundleId)
            page.member("environment", environment)
            page.member("hasMore", hasMore)
            page.array("signedTransactions") { list in
                for token in tokens { list.value(token) }
            }
        }
        return writer.text
    }

    static func error(_ code: Int64, _ message: String = "Not found.") -> TransportAnswer {
        TransportAnswer(
            status: Int(code / 10000),
            body: Array(#"{"errorCode":\#(code),"errorMessage":"\#(message)"}"#.utf8))
    }

    // MARK: Clients

    func configuration() -> StoreConfiguration {
        StoreConfiguration(bundleId: Self.bundleId, key: key)
    }

    func client(
        _ configuration: StoreConfiguration? = nil, _ clock: FakeClock = FakeClock(),
        _ transport: ScriptedTransport
    ) throws -> AppStoreClient {
        try AppStoreClient(
            configuration ?? self.configuration(), verifier: try verifier(),
            transport: transport, clock: clock.clock)
    }
}

/// A clock whose sleeps end at once and move it.
final class FakeClock: Sendable {
    private struct State {
        var wall = StoreFixture.now
        var monotonic: UInt64 = 1_000_000_000
        var slept: UInt64 = 0
    }

    private let state = Locked(State())

    /// Nanoseconds slept.
    var slept: UInt64 { state.withLock { $0.slept } }

    func advance(milliseconds: Int64) {
        state.withLock { state in
            state.wall += milliseconds
            state.monotonic += UInt64(milliseconds) * 1_000_000
        }
    }

    /// Sets the wall clock alone.
    func step(milliseconds: Int64) { state.withLock { $0.wall += milliseconds } }

    var wall: Int64 { state.withLock { $0.wall } }

    var clock: StoreClock {
        StoreClock(
            wall: { [state] in state.withLock { $0.wall } },
            monotonic: { [state] in state.withLock { $0.monotonic } },
            sleep: { [state] nanoseconds in
                try Task.checkCancellation()
                state.withLock { state in
                    state.slept += nanoseconds
                    state.monotonic += nanoseconds
                    state.wall += Int64(nanoseconds / 1_000_000)
                }
            },
            chance: { 0 })
    }
}

/// A transport that answers by a script, and keeps what it was asked.
final class ScriptedTransport: HTTPTransport {
    typealias Reply = Result<TransportAnswer, StoreTransportError>

    private let script: @Sendable (TransportRequest, Int) throws -> Reply
    private let seen = Locked<(count: Int, urls: [String], tokens: [String])>((0, [], []))
    /// Whether to keep each request.
    private let keeps: Bool

    /// - Parameter script: the answer to a request and its number, from 1.
    init(
        keeps: Bool = true, _ script: @escaping @Sendable (TransportRequest, Int) throws -> Reply
    ) {
        self.keeps = keeps
        self.script = script
    }

    var count: Int { seen.withLock { $0.count } }
    var urls: [String] { seen.withLock { $0.urls } }
    var tokens: [String] { seen.withLock { $0.tokens } }
    /// The hosts and paths of the requests, without the scheme.
    var targets: [String] { urls.map { String($0.dropFirst("https://".count)) } }

    func send(
        _ request: TransportRequest
    ) async throws(StoreTransportError) -> TransportAnswer {
        let number = seen.withLock { seen in
            seen.count += 1
            if keeps {
                seen.urls.append(request.url)
                seen.tokens.append(request.token ?? "")
            }
            return seen.count
        }
        do {
            return try script(request, number).get()
        } catch let error as StoreTransportError {
            throw error
        } catch {
            throw .other("the script failed: \(error)")
        }
    }

    func close() {}
}

extension ScriptedTransport.Reply {
    static func body(_ body: [UInt8]) -> Self { .success(TransportAnswer(status: 200, body: body)) }

    static func error(_ code: Int64, _ message: String = "Not found.") -> Self {
        .success(StoreFixture.error(code, message))
    }

    static func status(
        _ status: Int, _ body: String = "", retryAfter: String? = nil, date: String? = nil
    ) -> Self {
        .success(
            TransportAnswer(
                status: status, body: Array(body.utf8), retryAfter: retryAfter, date: date))
    }
}

/// Runs an operation; returns its error.
func failure<Value>(
    of operation: () async throws -> Value
) async -> StoreError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? StoreError
    }
}
