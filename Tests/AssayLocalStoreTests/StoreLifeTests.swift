import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: lives")
struct StoreLifeTests {
    /// Files of these scenarios say something else than the App Store knows, on purpose.
    private static let exceptions: Set<String> = ["unsigned-status", "unknown-values"]

    /// Plays every scenario, and compares the status that its notifications state with the one
    /// that the API answers at that moment.
    @Test("the API answers the status that each notification of each scenario states")
    func statuses() throws {
        var compared = 0
        for scenario in try Scenario.builtIn where !Self.exceptions.contains(scenario.name) {
            // Receipts are the app's: a store needs none.
            var test = try TestStore(scenario.name)
            var seen = 0
            while true {
                for body in test.posted[seen...] {
                    compared += try compare(notification(body), &test, scenario.name)
                }
                seen = test.posted.count
                guard let next = test.store.customers[0].life.nextEvent?.at else { break }
                test.store.move(to: next)
                test.deliver()
            }
        }
        print("local store: \(compared) statuses of notifications compared")
        #expect(compared > 80)
    }

    private func compare(
        _ notification: JSONValue, _ test: inout TestStore, _ name: String
    ) throws -> Int {
        guard let data = notification["data"], let stated = data["status"]?.int64,
            let token = data["signedTransactionInfo"]?.string
        else { return 0 }
        // A notification that was held back states what was, not what is.
        guard notification["signedDate"]?.int64 == test.store.now.milliseconds else { return 0 }
        let original = try payload(token)["originalTransactionId"]?.string ?? ""
        let path = data["environment"]?.string == "Sandbox" ? "/sandbox" : ""
        let bundle = data["bundleId"]?.string ?? ""
        test.bundleId = bundle
        let answer = try test.get("\(path)/inApps/v1/subscriptions/\(original)").json
        var answered: Int64?
        for group in answer["data"]?.elements ?? JSONElements.none {
            for item in group["lastTransactions"]?.elements ?? JSONElements.none
            where item["originalTransactionId"]?.string == original {
                answered = item["status"]?.int64
            }
        }
        let words = notification["notificationType"]?.string ?? ""
        #expect(answered == stated, "\(name), \(words) at \(test.store.now.rfc3339)")
        return 1
    }
}

extension JSONElements {
    /// No elements.
    static var none: JSONElements {
        // An empty list parses.
        (try? JSONDocument.parse(Array("[]".utf8)))!.root.elements!
    }
}
