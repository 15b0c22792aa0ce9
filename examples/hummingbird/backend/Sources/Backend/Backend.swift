import AssayClient
import AssayEntitlements
import Foundation
import GRDB
import Hummingbird

/// Sells subscriptions and products. Assay verifies and decides; the database keeps the sessions,
/// all evidence of each user, and what it grants.
struct Backend: Sendable {
    let assay: any Decider
    let database: DatabaseQueue
    var clock: @Sendable () -> Timestamp = { .now }

    init(_ assay: any Decider, _ database: DatabaseQueue) throws {
        (self.assay, self.database) = (assay, database)
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS sessions (id PRIMARY KEY, user, until);
                    CREATE TABLE IF NOT EXISTS evidence (
                        user, key, kind, body, PRIMARY KEY (user, key));
                    CREATE TABLE IF NOT EXISTS grants (
                        user, product, until, PRIMARY KEY (user, product));
                    """)
        }
    }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: TracingMiddleware())
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: LogRequestsMiddleware(.debug))
        router.post("sessions") {
            try await logIn(try await $0.decode(as: Login.self, context: $1))
        }
        router.post("purchases") { request, context in
            let user = try await user(of: request)
            let token = try await request.decode(as: Purchase.self, context: context).token
            return try await store(Evidence(kind: "transaction", body: token), of: user)
        }
        router.post("notifications") { request, _ in
            let body = try await request.body.collect(upTo: 1 << 20)
            return try await store(
                Evidence(kind: "notification", body: String(buffer: body)), of: nil)
        }
        router.get("grants") { request, _ in try await grants(of: try await user(of: request)) }
        return router
    }

    /// Stands for your login. A user is the UUID that the app gives StoreKit as `appAccountToken`.
    private func logIn(_ login: Login) async throws -> Session {
        guard let user = UUID(uuidString: login.user) else { throw HTTPError(.badRequest) }
        let id = UUID().uuidString
        let values: StatementArguments = [
            id, user.uuidString.lowercased(), clock().milliseconds + 3_600_000,
        ]
        try await database.write { db in
            try db.execute(sql: "INSERT INTO sessions VALUES (?, ?, ?)", arguments: values)
        }
        return Session(session: id)
    }

    private func user(of request: Request) async throws -> String {
        let id = request.headers[.authorization]?.dropFirst("Bearer ".count) ?? ""
        let values: StatementArguments = [String(id), clock().milliseconds]
        let user = try await database.read { db in
            try String.fetchOne(
                db, sql: "SELECT user FROM sessions WHERE id = ? AND until > ?", arguments: values)
        }
        guard let user else { throw HTTPError(.unauthorized) }
        return user
    }

    /// Stores evidence under its key, and grants what all evidence of its user says. Each step can
    /// be repeated: Apple and the app send again what got no answer.
    private func store(_ evidence: Evidence, of user: String?) async throws -> Grants {
        let item = try await decide([evidence], for: user).items[0]
        guard item.verification.verdict == .valid, let key = item.verification.evidenceKey else {
            // What Apple did not sign is refused for good; anything else can be repaired.
            let isForged = [.malformed, .invalidSignature].contains(item.verification.verdict)
            throw HTTPError(
                isForged || user != nil ? .badRequest : .serviceUnavailable,
                message: item.verification.verdict.name)
        }
        guard let user = user ?? item.identifiers.appAccountToken?.lowercased() else {
            return Grants(products: [])  // a test, for example, concerns nobody
        }
        try await database.write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?)",
                arguments: [user, key, evidence.kind, evidence.body])
        }
        while !(try await update(user)) {}
        return try await grants(of: user)
    }

    /// Returns false if more evidence came meanwhile: an older decision never replaces a newer one.
    private func update(_ user: String) async throws -> Bool {
        let all = try await database.read { db in try evidence(of: user, db) }
        let owned = try await decide(all, for: user).entitlements
        return try await database.write { db in
            guard try evidence(of: user, db) == all else { return false }
            try db.execute(sql: "DELETE FROM grants WHERE user = ?", arguments: [user])
            for (product, until) in owned.products {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO grants VALUES (?, ?, ?)",
                    arguments: [user, product, until?.milliseconds])
            }
            return true
        }
    }

    private func evidence(of user: String, _ db: Database) throws -> [Evidence] {
        let sql = "SELECT kind, body FROM evidence WHERE user = ? ORDER BY key"
        return try Row.fetchAll(db, sql: sql, arguments: [user]).map {
            Evidence(kind: $0["kind"], body: $0["body"])
        }
    }

    private func decide(
        _ evidence: [Evidence], for user: String?
    ) async throws -> (items: [EvidenceItem], entitlements: Entitlements) {
        do {
            return try await assay.decide(evidence, for: user, at: clock())
        } catch let error as ClientError {  // no verdict: says nothing about the purchase
            throw HTTPError(.serviceUnavailable, message: error.message)
        }
    }

    private func grants(of user: String) async throws -> Grants {
        let values: StatementArguments = [user, clock().milliseconds]
        return try await database.read { db in
            let sql = """
                SELECT product FROM grants WHERE user = ? AND (until IS NULL OR until > ?)
                ORDER BY product
                """
            return Grants(products: try String.fetchAll(db, sql: sql, arguments: values))
        }
    }
}

struct Login: Decodable { var user: String }
struct Session: ResponseCodable { var session: String }
struct Purchase: Decodable { var token: String }
struct Grants: ResponseCodable { var products: [String] }

extension Entitlements {
    /// The products that unlock something, each with its end.
    var products: [(product: String, until: Timestamp?)] {
        apps.flatMap { app in
            app.subscriptionGroups.map(\.deciding).filter(\.isEntitled)
                .map { ($0.productId ?? "", $0.entitledUntil) }
                + (app.nonConsumables + app.nonRenewing).filter(\.isEntitled)
                .map { ($0.productId, $0.entitledUntil) }
        }
    }
}
