import AssayEntitlements
import AssayIO
import AssayMint
import AssayModels
import Glibc
import TestSupport
import Testing

@testable import AssayStore

@Suite("Lists of the App Store Server API")
struct StorePagesTests {
    private static let fixture = StoreFixture.shared

    /// Walks through all pages; returns those that came, and the error that ended the walk.
    private static func walk(
        _ client: AppStoreClient, _ call: StoreCall? = nil, from revision: String? = nil,
        limit: Int? = nil
    ) async throws -> (pages: [StoreAnswer], error: StoreError?) {
        var pages: [StoreAnswer] = []
        let call = try call ?? .history(of: "1")
        do throws(StoreError) {
            let list = client.pages(call, from: revision, limit: limit)
            for try await page in list { pages.append(page) }
            return (pages, nil)
        } catch {
            return (pages, error)
        }
    }

    /// Pages of one transaction each: `r0`, `r1` and so on.
    private static func list(_ count: Int) throws -> [[UInt8]] {
        try (0..<count).map { index in
            StoreFixture.page(
                [try fixture.transaction(index)], revision: "r\(index)", hasMore: index < count - 1)
        }
    }

    @Test("each page is asked for by the revision of the one before, with the same query")
    func walks() async throws {
        let pages = try Self.list(3)
        let transport = ScriptedTransport { _, number in .body(pages[number - 1]) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        var query = HistoryQuery()
        query.revoked = true
        let (found, error) = try await Self.walk(client, .history(of: "1", query))
        #expect(error == nil && found.map(\.body) == pages)
        let base = "api.storekit.apple.com/inApps/v2/history/1?revoked=true"
        #expect(
            transport.targets == [base, base + "&revision=r0", base + "&revision=r1"])
    }

    @Test("a walk from a revision begins there")
    func continues() async throws {
        let pages = try Self.list(1)
        let transport = ScriptedTransport { _, _ in .body(pages[0]) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        _ = try await Self.walk(client, from: "old")
        #expect(transport.targets == ["api.storekit.apple.com/inApps/v2/history/1?revision=old"])
    }

    @Test("the environment of the first page is that of all")
    func environment() async throws {
        let pages = try (0..<2).map { index in
            StoreFixture.page(
                [try Self.fixture.transaction(index, environment: .sandbox)],
                revision: "r\(index)", hasMore: index == 0, environment: "Sandbox")
        }
        let transport = ScriptedTransport { request, number in
            request.url.contains("sandbox") ? .body(pages[number - 2]) : .error(4_040_010)
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client)
        #expect(error == nil && found.count == 2 && transport.count == 3)
        #expect(transport.targets[2].hasPrefix("api.storekit-sandbox.apple.com"))
    }

    @Test("hasMore forever ends at the limit, after the pages up to it")
    func endless() async throws {
        let token = try Self.fixture.transaction(1)
        let transport = ScriptedTransport { _, number in
            .body(StoreFixture.page([token], revision: "r\(number)", hasMore: true))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client, limit: 7)
        #expect(found.count == 7 && error == .tooManyPages(limit: 7) && transport.count == 7)
    }

    @Test("a revision that does not move ends the walk")
    func stands() async throws {
        let token = try Self.fixture.transaction(1)
        let transport = ScriptedTransport { _, _ in
            .body(StoreFixture.page([token], revision: "same", hasMore: true))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client)
        #expect(found.count == 2 && error == .pagesRepeat)
    }

    @Test("empty pages that promise more end the walk")
    func empty() async throws {
        let transport = ScriptedTransport { _, number in
            .body(StoreFixture.page([], revision: "r\(number)", hasMore: true))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client)
        #expect(found.count == 10 && error == .emptyPages(count: 10))
    }

    @Test("a page of another app is refused, whatever its unsigned members say")
    func otherApp() async throws {
        let own = StoreFixture.page(
            [try Self.fixture.transaction(1)], revision: "r1", hasMore: true)
        let other = StoreFixture.page(
            [try Self.fixture.transaction(2, bundleId: "com.example.other")], revision: "r2",
            hasMore: false)
        let transport = ScriptedTransport { _, number in .body(number == 1 ? own : other) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client)
        #expect(error?.verdict == .wrongBundle)
        #expect(found.count == 1 && error?.message.contains("signedTransactions[0]") == true)
    }

    @Test("a connection that is lost between pages is made again; the page comes once")
    func lost() async throws {
        let pages = try Self.list(3)
        let transport = ScriptedTransport { _, number in
            switch number {
            case 1: .body(pages[0])
            case 2, 3: .failure(.connectionLost("reset"))
            default: .body(pages[number - 3])
            }
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let (found, error) = try await Self.walk(client)
        #expect(error == nil && found.map(\.body) == pages && transport.count == 5)
    }

    @Test("the deadline counts for all pages")
    func deadline() async throws {
        let clock = FakeClock()
        let token = try Self.fixture.transaction(1)
        let transport = ScriptedTransport { _, number in
            clock.advance(milliseconds: 12_000)
            return .body(StoreFixture.page([token], revision: "r\(number)", hasMore: true))
        }
        let client = try Self.fixture.client(nil, clock, transport)
        let (found, error) = try await Self.walk(client)
        #expect(error?.reason == .deadlineExceeded)
        #expect(found.count == 3 && transport.count == 3)
    }

    @Test("a repeat with newer data replaces the older, in either order")
    func repeats() async throws {
        let older = try Self.fixture.product("900", signed: StoreFixture.now - 2000)
        let newer = try Self.fixture.product("900", signed: StoreFixture.now, revoked: true)
        for (first, second) in [(older, newer), (newer, older)] {
            let statuses = Array(#"{"environment":"Production","data":[]}"#.utf8)
            let transport = ScriptedTransport { request, number in
                guard !request.url.contains("subscriptions") else { return .body(statuses) }
                return .body(
                    StoreFixture.page(
                        [number == 1 ? first : second], revision: "r\(number)", hasMore: number == 1
                    ))
            }
            let client = try Self.fixture.client(nil, FakeClock(), transport)
            let found = try await client.entitlements(of: "900")
            #expect(found.environment == .production && found.revision == "r2")
            #expect(found.items.map(\.label) == ["history 1", "history 2", "statuses"])
            let product = try #require(found.entitlements.apps.first?.nonConsumables.first)
            #expect(!product.isEntitled && product.revocationDate != nil)
        }
    }

    @Test("what to fetch decides what is asked; nothing is an error")
    func fetch() async throws {
        let page = try Self.list(1)[0]
        let transport = ScriptedTransport { _, _ in .body(page) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let found = try await client.state(of: CustomerQuery(of: "1", lists: .history))
        #expect(found.items.count == 1 && transport.count == 1)
        #expect(
            found.entitlements.apps.first?.subscriptionGroups.first?.deciding.isEntitled == true)
        let error = await failure {
            try await client.state(of: CustomerQuery(of: "1", lists: []))
        }
        #expect(error?.reason == .invalidArgument)
    }

    @Test("notifications are walked by their pagination token")
    func notifications() async throws {
        let notification = String(
            decoding: try Self.fixture.minter.mint(
                .notification, index: 1, bundleId: StoreFixture.bundleId, appAppleId: 1,
                environment: .production,
                signedDate: Timestamp(milliseconds: StoreFixture.now)), as: UTF8.self)
        let transport = ScriptedTransport { request, number in
            #expect(
                request.method == "POST"
                    && request.body == Array(#"{"startDate":1,"endDate":2}"#.utf8))
            let more =
                number == 1 ? #""paginationToken":"t 1","hasMore":true"# : #""hasMore":false"#
            return .body(
                Array(
                    #"{\#(more),"notificationHistory":[{"signedPayload":"\#(notification)"}]}"#.utf8
                ))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let query = NotificationQuery(
            from: Timestamp(milliseconds: 1), to: Timestamp(milliseconds: 2))
        let (found, error) = try await Self.walk(client, try .notifications(query))
        #expect(error == nil && found.compactMap(\.signed).flatMap(\.notifications).count == 2)
        #expect(transport.targets[1].hasSuffix("/history?paginationToken=t%201"))
    }

    @Test(
        "10,000 pages take the memory of one", .enabled(if: !Sanitizer.isOn),
        .enabled(if: TimedTests.areEnabled)
    )
    func memory() async throws {
        let tokens = try (0..<4).map { try Self.fixture.transaction($0) }
        let transport = ScriptedTransport(keeps: false) { _, number in
            .body(
                StoreFixture.page(
                    [tokens[number % 4]], revision: "r\(number)", hasMore: number < 10_000))
        }
        var configuration = Self.fixture.configuration()
        configuration.timeout = .seconds(3600)
        let client = try Self.fixture.client(configuration, FakeClock(), transport)
        var count = 0
        var resident: [Int] = []
        for try await page in client.pages(try .history(of: "1"), limit: 10_000) {
            count += page.signed?.transactions.count ?? 0
            guard count % 1000 == 0 else { continue }
            resident.append(try #require(AddressSpace.residentBytes(of: getpid())))
        }
        #expect(count == 10_000)
        // Other tests run beside this one, and some thousands of pages are theirs. Pages that were
        // kept would show in each thousand.
        let growth = zip(resident.dropFirst(), resident).map(-).sorted()
        let page = StoreFixture.page([tokens[0]], revision: "r", hasMore: true)
        #expect(growth[growth.count / 2] < 1000 * page.count / 2, "\(growth)")
    }

    @Test("a cancelled task ends the walk")
    func cancelled() async throws {
        let token = try Self.fixture.transaction(1)
        let transport = ScriptedTransport { _, number in
            if number == 2 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            return number == 2
                ? .failure(.connectionLost("reset"))
                : .body(StoreFixture.page([token], revision: "r\(number)", hasMore: true))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let task = Task { try await Self.walk(client) }
        let (found, error) = try await task.value
        #expect(found.count == 1 && error == .cancelled)
    }
}
