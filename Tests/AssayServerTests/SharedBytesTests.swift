import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// What workers borrow of the server's bytes.
@Suite struct SharedBytesTests {
    /// A share of one worker, whose changes can be expected.
    private final class Worker {
        private var share: BorrowedBytes
        init(_ shared: SharedBytes) { share = BorrowedBytes(of: shared) }
        var limit: Int { share.limit }
        func borrow(for bytes: Int) -> Bool { share.borrow(for: bytes) }
        func cover(_ bytes: Int) { share.cover(bytes) }
        func giveBack(keeping bytes: Int) { share.giveBack(keeping: bytes) }
        func isLow(with bytes: Int) -> Bool { share.isLow(with: bytes) }
    }

    private static let limit = 64 << 20

    @Test("All workers together borrow no more than the limit, and one gets all that is free")
    func limit() {
        let shared = SharedBytes(limit: Self.limit, workers: 4)
        let (first, second) = (Worker(shared), Worker(shared))
        #expect(first.borrow(for: 10))
        // A share at a time, so that the shared number is rarely written.
        #expect(shared.borrowed == shared.unit)
        #expect(first.borrow(for: shared.unit) && shared.borrowed == shared.unit)
        #expect(second.limit == Self.limit - shared.unit)
        #expect(!second.borrow(for: Self.limit - shared.unit + 1))
        #expect(second.borrow(for: Self.limit - shared.unit))
        #expect(shared.borrowed == Self.limit)
        #expect(!first.borrow(for: shared.unit + 1) && first.limit == shared.unit)
    }

    @Test("What is borrowed leaves the rest, and no byte more")
    func rest() {
        let shared = SharedBytes(limit: Self.limit, workers: 4)
        #expect(shared.borrow(Self.limit - shared.unit) == Self.limit - shared.unit)
        #expect(shared.borrow(shared.unit + 1) == 0)
        #expect(shared.borrow(10) == shared.unit)
        #expect(shared.borrow(1) == 0)
        #expect(shared.borrowed == Self.limit)
    }

    @Test("Bytes that are there already are borrowed beyond the limit, and admit no others")
    func beyond() {
        let shared = SharedBytes(limit: Self.limit, workers: 4)
        let (first, second) = (Worker(shared), Worker(shared))
        first.cover(Self.limit + 1_000)
        #expect(shared.borrowed == Self.limit + 1_000)
        #expect(!first.borrow(for: Self.limit + 1))
        #expect(first.isLow(with: Self.limit + 1_000) && second.isLow(with: 0))
        #expect(!second.borrow(for: 1) && second.limit == -1_000)
        first.giveBack(keeping: Self.limit - 3 * shared.unit)
        #expect(second.borrow(for: shared.unit))
    }

    @Test("A worker gives back what it does not need, and all when it holds nothing")
    func giveBack() {
        let shared = SharedBytes(limit: Self.limit, workers: 4)
        let share = Worker(shared)
        #expect(share.borrow(for: 20 << 20))
        share.giveBack(keeping: 1_000)
        #expect(shared.borrowed == shared.unit + 1_000)
        share.giveBack(keeping: 0)
        #expect(shared.borrowed == 0)
    }

    @Test("A small limit is borrowed in small shares, so that each worker gets one")
    func smallLimit() {
        let shared = SharedBytes(limit: 64_000, workers: 4)
        let shares = (0..<64).map { _ in Worker(shared) }
        for share in shares { #expect(share.borrow(for: 1)) }
        #expect(shared.borrowed == 64_000)
    }
}
