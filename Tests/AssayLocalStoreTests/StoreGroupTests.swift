import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

/// Groups, seats and external purchases.
@Suite("Groups and external purchases of a local store") struct StoreGroupTests {
    private static let id = "2000000000100100"
    private static let seats = "/sandbox/groups/v1/transactions/\(id)/seats"
    private static func request(_ number: Int) -> String {
        #"{"requestIdentifier":"00000000-0000-4000-8000-00000000000\#(number)"}"#
    }

    private func group() throws -> TestStore {
        var test = try TestStore()
        try test.add("seats", .sandbox)
        try test.add("grace-period", .sandbox)
        return test
    }

    private func counts(_ test: inout TestStore) throws -> [Int64?] {
        let json = try test.get(Self.seats).json
        return [
            json["totalSeatCount"]?.int64, json["availableSeatCount"]?.int64,
            json["assignedSeatClaimIds"]?.elements.map { Int64(Array($0).count) },
        ]
    }

    @Test("seats are claimed, named, and given up; they follow what was bought")
    func claims() throws {
        var test = try group()
        #expect(try counts(&test) == [10, 10, 0])
        let first = try test.send(.post, Self.seats, Self.request(1)).json["seatClaimId"]?.string
        let claim = try #require(first)
        // The same request has the same claim.
        let again = try test.send(.post, Self.seats, Self.request(1)).json["seatClaimId"]?.string
        #expect(again == claim)
        #expect(try counts(&test) == [10, 9, 1])
        let other = test.store.customers[1].life.identity.appTransactionId
        let member = #"{"appTransactionId":"\#(other)"}"#
        let named = test.send(.post, "\(Self.seats)/\(claim)/associate", member)
        #expect(named.status == 200)
        let groups = try test.get("/sandbox/groups/v1/currentGroups/\(other)").json["groups"]
        #expect(groups?.elements?.first { _ in true }?["groupId"]?.string == Self.id)
        var members: [String] = []
        var token = ""
        repeat {
            let page = try test.get("/sandbox/groups/v1/group/\(Self.id)?limit=1\(token)").json
            members +=
                page["members"]?.elements?.compactMap { $0["appTransactionId"]?.string } ?? []
            token = page["paginationToken"]?.string.map { "&paginationToken=" + $0 } ?? ""
        } while !token.isEmpty
        let owner = test.store.customers[0].life.identity.appTransactionId
        #expect(members == [owner, other])
        #expect(test.send(.delete, "\(Self.seats)/\(claim)").status == 200)
        #expect(try counts(&test) == [10, 10, 0])
        try test.advance("11d")
        #expect(try counts(&test) == [15, 15, 0])
        try test.advance("2d")
        #expect(try counts(&test) == [10, 10, 0])
    }

    @Test("what is refused, by its code")
    func refusals() throws {
        var test = try group()
        for number in 0..<10 {
            let body = #"{"requestIdentifier":"00000000-0000-4000-8000-0000000001\#(number)0"}"#
            #expect(test.send(.post, Self.seats, body).status == 200)
        }
        let claim = "\(Self.seats)/5ea7c1a1-0000-4000-8000-000000000001"
        let table: [(StoreMethod, String, String, Int?)] = [
            (.post, Self.seats, Self.request(1), 4_030_028),
            (.post, Self.seats, "{}", 4_000_011), (.post, Self.seats, "x", 4_000_000),
            (.delete, Self.seats + "/other", "", 4_040_022),
            (.post, claim + "/associate", "{}", 4_000_000),
            (.post, claim + "/associate", #"{"appTransactionId":"9"}"#, 4_040_010),
            (.get, "/sandbox/groups/v1/transactions/2000000000200100/seats", "", 4_000_004),
            (.get, "/sandbox/groups/v1/transactions/1/seats", "", 4_040_005),
            (.get, "/sandbox/groups/v1/transactions/x/seats", "", 4_000_008),
            (.get, "/sandbox/groups/v1/currentGroups/1", "", 4_040_010),
            (.get, "/sandbox/groups/v1/group/\(Self.id)?limit=0", "", 4_000_000),
            (.get, "/sandbox/groups/v1/group/\(Self.id)?paginationToken=9", "", 4_000_014),
            // Production has no groups.
            (.get, "/groups/v1/transactions/\(Self.id)/seats", "", nil),
            (.get, "/groups/v1/group/\(Self.id)", "", nil),
        ]
        for (method, path, body, code) in table {
            let answer = test.send(method, path, body)
            #expect(answer.code == code && answer.status == (code ?? 4_040_000) / 10_000, "\(path)")
        }
    }

    @Test("a report of an external purchase is taken once, and read back")
    func reports() throws {
        var test = try TestStore()
        func report(_ number: Int, _ token: String, _ more: String) -> String {
            #"{"requestIdentifier":"00000000-0000-4000-8000-00000000000\#(number)","#
                + #""externalPurchaseId":"\#(token)",\#(more)}"#
        }
        let path = "/externalPurchase/v1/reports"
        let good = report(1, "abc", #""status":"NO_LINE_ITEM""#)
        let items = report(2, "SANDBOX_abc", #""status":"LINE_ITEM","lineItems":[{}]"#)
        for (target, body, status) in [
            (path, good, 200), (path, good, 400), ("/sandbox" + path, good, 400),
            ("/sandbox" + path, items, 200), (path, items, 400),
            (path, report(3, "abc", #""status":"LINE_ITEM""#), 400),
            (path, report(3, "abc", #""lineItems":[{}]"#), 400), (path, "{}", 400),
        ] {
            #expect(test.send(.put, target, body).status == status, "\(target) \(body)")
        }
        let found = test.get(path + "/00000000-0000-4000-8000-000000000001")
        #expect(found.status == 200 && found.body == Array(good.utf8))
        #expect(test.get(path + "/00000000-0000-4000-8000-000000000002").status == 404)
    }
}
