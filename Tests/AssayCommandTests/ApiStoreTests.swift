import Foundation
import TestSupport
import Testing

/// `assay api` and `assay fetch` against `assay store` with customers of both environments: the
/// path from production to the sandbox that TestFlight and App Review need.
@Suite("assay api with assay store", .serialized) struct ApiStoreTests {
    private let folder = TemporaryFolder()
    private let store: ServerProcess
    private let customers: [Customer]
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"

    /// A customer of the store.
    private struct Customer {
        let environment: String
        let transaction: String
        let order: String
        let appTransaction: String

        init(_ json: [String: Any]) throws {
            environment = try #require(json["environment"] as? String)
            appTransaction = try #require(json["appTransactionId"] as? String)
            let first = (json["transactions"] as? [[String: Any]])?.first
            transaction = try #require(first?["transactionId"] as? String)
            order = try #require(first?["orderId"] as? String)
        }
    }

    init() throws {
        try MintedAuthority.write(to: folder, date: "2025-01-01T00:00:00Z")
        store = try ServerProcess(
            [
                "--ca", folder("ca"), "--listen", "http://127.0.0.1:0", "--customer", "refund",
                "--customer", "refund@Sandbox", "--notify", "http://127.0.0.1:9/",
                "--no-rate-limits",
            ], command: "store")
        try #require(store.ready.hasPrefix("assay store ready"), "\(store.log)")
        let url = store.address("http://")
        _ = try Self.curl(url + "/advance", #"{"duration":"6d"}"#)
        let answer = try JSONSerialization.jsonObject(
            with: Data(Self.curl(url + "/customers").utf8))
        let list = try #require((answer as? [String: Any])?["customers"] as? [[String: Any]])
        customers = try list.map(Customer.init)
        try #require(customers.map(\.environment) == ["Production", "Sandbox"])
    }

    private var url: String { store.address("http://") }

    private static func curl(_ url: String, _ body: String? = nil) throws -> String {
        try Tool.run(
            program: "/usr/bin/curl",
            ["-s", "--noproxy", "*"] + (body.map { ["-d", $0] } ?? []) + [url]
        ).output
    }

    private func api(_ command: [String], at url: String? = nil) throws -> Tool.Result {
        try Tool.run(
            [
                "api", command[0], "--bundle-id", "com.example.game", "--root",
                folder("ca/root.pem"), "--base-url", url ?? self.url, "--proxy", "",
            ] + command.dropFirst())
    }

    /// The commands that read about a customer.
    private static func commands(_ customer: Customer) -> [[String]] {
        let id = customer.transaction
        return [
            ["statuses", id], ["history", "--all", id], ["transaction", id],
            ["app-transaction", customer.appTransaction], ["refunds", "--all", id],
            [
                "notifications", "--all", "--transaction", id, "--start", "2024-12-20T00:00:00Z",
                "--end", "2025-01-08T00:00:00Z",
            ],
        ]
    }

    private static func isFound(_ result: Tool.Result, in environment: String) -> Bool {
        // A line for each item precedes the summary.
        result.status == 0 && result.output.contains("\n\(environment): ")
            && result.output.contains("verified")
    }

    @Test("every read command finds the customers of both environments, by either base URL")
    func customersOfBoth() throws {
        for base in [url, url + "/", url + "/sandbox", url + "/sandbox/"] {
            for customer in customers {
                for command in Self.commands(customer) {
                    let found = try api(command, at: base)
                    #expect(
                        Self.isFound(found, in: customer.environment),
                        "\(base) \(command): \(found.output) \(found.error)")
                }
            }
        }
        // An environment that was chosen is the only one that is asked.
        for customer in customers {
            for environment in ["Production", "Sandbox"] {
                for command in Self.commands(customer) {
                    let one = try api(command + ["--environment", environment])
                    if environment == customer.environment {
                        #expect(Self.isFound(one, in: environment), "\(command): \(one.error)")
                    } else {
                        #expect(
                            one.status == 1 && one.error.contains("4040010"),
                            "\(command): \(one.output) \(one.error)")
                    }
                }
            }
        }
        let unknown = try api(["statuses", "999"])
        #expect(
            unknown.status == 1
                && unknown.error.contains("(Production and Sandbox) refused with 4040010"))
    }

    @Test("commands about the whole app ask production, or the environment that was chosen")
    func wholeApp() throws {
        let order = try api(["order", customers[0].order])
        #expect(Self.isFound(order, in: "Production"), "\(order.error)")
        let none = try api(["order", "--environment", "Sandbox", customers[1].order])
        #expect(none.status == 2 && none.error.contains("the sandbox has no orders"))
        let span = ["--start", "2024-12-20T00:00:00Z", "--end", "2025-01-08T00:00:00Z"]
        for (options, environment) in [
            ([], "Production"), (["--environment", "Sandbox"], "Sandbox"),
        ] {
            let sent = try api(["notifications"] + span + options)
            #expect(Self.isFound(sent, in: environment), "\(sent.output) \(sent.error)")
            let test = try api(["test-notification"] + options)
            #expect(test.output.hasPrefix(environment), "\(test.output) \(test.error)")
            let messages = try api(["messaging"] + options + ["messages"])
            #expect(messages.output.hasPrefix(environment), "\(messages.output) \(messages.error)")
        }
    }

    @Test("production answers 401 for an app without a release: the sandbox is asked")
    func unreleased() throws {
        _ = try Self.curl(
            url + "/faults", #"{"status":401,"environment":"Production","count":1000000}"#)
        for command in Self.commands(customers[1]) {
            let found = try api(command)
            #expect(Self.isFound(found, in: "Sandbox"), "\(command): \(found.error)")
        }
        let other = try api(Self.commands(customers[0])[0])
        #expect(other.status == 1 && other.error.contains("(Sandbox) refused with 4040010"))
        #expect(other.error.contains("Production answered HTTP 401"), "\(other.error)")
        let server = try server(#""Production", "Sandbox""#)
        let fetched = try fetch(customers[1], server)
        #expect(fetched.output.contains(#""environment":"Sandbox""#), "\(fetched.error)")
    }

    // MARK: Fetch

    private func server(_ environments: String) throws -> ServerProcess {
        try StoreKeyFile.write(to: folder)
        let configuration = folder.write(
            "assay.toml",
            """
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            environments = [\(environments)]
            roots = ["\(folder("ca"))/root.pem"]
            [app.store]
            key-file = "\(StoreKeyFile.name)"
            issuer-id = "\(Self.issuer)"
            base-url = "\(url)"
            proxy = ""
            """)
        let server = try ServerProcess([
            "--config", configuration, "--listen", "tcp://127.0.0.1:0",
        ])
        try #require(server.tcp != "none", "\(server.log)")
        return server
    }

    private func fetch(_ customer: Customer, _ server: ServerProcess) throws -> Tool.Result {
        try Tool.run("fetch", customer.transaction, "--server", server.tcp, "--app", "game")
    }

    @Test("a server fetches the customers of the environments that its entry accepts")
    func fetch() throws {
        for (environments, accepted) in [
            (#""Production", "Sandbox""#, ["Production", "Sandbox"]),
            (#""Production""#, ["Production"]), (#""Sandbox""#, ["Sandbox"]),
        ] {
            let server = try server(environments)
            for customer in customers {
                let found = try fetch(customer, server)
                if accepted.contains(customer.environment) {
                    #expect(
                        found.output.contains("\"environment\":\"\(customer.environment)\""),
                        "\(environments): \(found.error)")
                } else {
                    // Nothing is granted that the policy refuses.
                    #expect(found.status != 0 && found.output.isEmpty, "\(found.output)")
                    #expect(found.error.contains("4040010"), "\(found.error)")
                }
            }
        }
    }
}
