import Assay
import AssayBytes
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: pages")
struct StoreHistoryTests {
    private static let id = "470001000000100"

    /// All pages of a history, and the last revision.
    private func pages(
        _ test: inout TestStore, _ query: String,
        between: (inout TestStore) throws -> Void = { _ in }
    ) throws -> (tokens: [String], revision: String, pages: Int) {
        var tokens: [String] = []
        var revision: String?
        for count in 1...100 {
            let page = revision.map { "&revision=\($0)" } ?? ""
            let answer = test.get("/inApps/v2/history/\(Self.id)?\(query)\(page)")
            #expect(answer.status == 200)
            tokens += try answer.tokens
            revision = try answer.json["revision"]?.string
            guard try answer.json["hasMore"]?.bool == true else {
                return (tokens, revision ?? "", count)
            }
            if count == 1 { try between(&test) }
        }
        throw AppleError.generalInternal
    }

    @Test("pages of any size and direction have each item once", arguments: 1...4)
    func sizes(size: Int) throws {
        var test = try TestStore("customers-life", pageSize: size)
        try test.advance("44d")
        for sort in ["ASCENDING", "DESCENDING"] {
            let found = try pages(&test, "sort=\(sort)")
            let ids = try found.tokens.map { try payload($0)["transactionId"]?.string ?? "" }
            let ascending = ["100", "101", "102"].map { "470001000000" + $0 }
            #expect(ids == (sort == "ASCENDING" ? ascending : ascending.reversed()))
            #expect(found.pages == (3 + size - 1) / size)
            // Nothing has changed since the last revision.
            let again = test.get(
                "/inApps/v2/history/\(Self.id)?sort=\(sort)&revision=\(found.revision)")
            #expect(try again.tokens == [] && again.json["hasMore"]?.bool == false)
        }
    }

    @Test("after the last page the revision brings what has changed since", arguments: 1...4)
    func changes(size: Int) throws {
        for sort in ["ASCENDING", "DESCENDING"] {
            var test = try TestStore("customers-life", pageSize: size)
            try test.advance("44d")
            let found = try pages(&test, "sort=\(sort)")
            try test.advance("1d")
            let target = "/inApps/v2/history/\(Self.id)?sort=\(sort)&revision=\(found.revision)"
            let tokens = try test.get(target).tokens
            #expect(tokens.count == 1)
            #expect(try payload(tokens[0])["revocationDate"] != nil)
        }
    }

    @Test("an item that changes between two pages comes again, with newer data")
    func repeats() throws {
        var test = try TestStore("customers-life", pageSize: 1)
        try test.advance("10d")
        let found = try pages(&test, "sort=ASCENDING") { test in
            let path = "/inApps/v1/transactions/\(Self.id)/appAccountToken"
            let token = "{\"appAccountToken\":\"00000000-0000-4000-8000-000000000001\"}"
            #expect(test.send(.put, path, token).status == 200)
        }
        let payloads = try found.tokens.map(payload)
        let firsts = payloads.filter { $0["transactionId"]?.string == Self.id }
        #expect(firsts.count == 2)
        #expect(firsts.last?["appAccountToken"]?.string?.hasSuffix("0001") == true)
        #expect(firsts.first?["appAccountToken"]?.string?.hasSuffix("0001") == false)
    }

    @Test("filters")
    func filters() throws {
        var test = try TestStore("customers-life")
        try test.advance("50d")
        let start = TestStore.start.milliseconds
        let day: Int64 = 86_400_000
        for (query, count) in [
            ("", 3), ("productId=premium.monthly", 3), ("productId=a", 0),
            ("productId=a&productId=premium.monthly", 3), ("productType=AUTO_RENEWABLE", 3),
            ("productType=CONSUMABLE", 0), ("subscriptionGroupIdentifier=2100", 3),
            ("subscriptionGroupIdentifier=1", 0), ("inAppOwnershipType=PURCHASED", 3),
            ("inAppOwnershipType=FAMILY_SHARED", 0), ("revoked=true", 1), ("revoked=False", 2),
            ("startDate=\(start)", 3), ("startDate=\(start + 1)", 2), ("endDate=\(start)", 1),
            ("startDate=\(start + day)&endDate=\(start + 7 * day)", 1),
        ] {
            let answer = test.get("/inApps/v2/history/\(Self.id)?\(query)")
            #expect(try answer.tokens.count == count, "\(query)")
        }
        let refunds = test.get("/inApps/v2/refund/lookup/\(Self.id)")
        #expect(try refunds.tokens.count == 1)
    }

    @Test("a revision belongs to its query")
    func queries() throws {
        var test = try TestStore("customers-life", pageSize: 1)
        try test.advance("44d")
        let first = test.get("/inApps/v2/history/\(Self.id)?sort=ASCENDING")
        let revision = try #require(try first.json["revision"]?.string)
        let other = test.get("/inApps/v2/history/\(Self.id)?revoked=true&revision=\(revision)")
        #expect(other.code == AppleError.invalidRequestRevision.rawValue)
    }

    @Test("revisions are read as they are written, and nothing else is")
    func revisions() {
        let revision = Revision(time: -5, after: 7, before: 3, highest: 9, query: 0xFEED)
        #expect(Revision(revision.text) == revision)
        for text in [
            "", "1", "1_2_3_4", "1_2_3_4_g", "1_-2_3_4_5", "1_2_3_4_5_6", "_2_3_4_5", " 1_2_3_4_5",
            "99999999999999999999_2_3_4_5", String(repeating: "1", count: 97),
        ] {
            #expect(Revision(text) == nil, "\(text)")
        }
        for (text, after) in [("n0", 0), ("n17", 17)] {
            #expect(PageToken(text)?.after == after)
        }
        for text in ["", "n", "17", "n-1", "nx", "N1"] {
            #expect(PageToken(text) == nil, "\(text)")
        }
    }
}
