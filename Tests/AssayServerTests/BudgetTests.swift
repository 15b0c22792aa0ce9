import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// The counts of the budget, and the shares of its limit.
@Suite struct BudgetTests {
    private static let call = VerifyCall(kind: .transaction)

    private static func cost(_ bytes: Int, answer: Int) -> RequestCost {
        RequestCost(bytes: bytes, state: 0, answer: answer)
    }

    @Test("line 80: connections that read keep a share, however many do not read")
    func sharesOfAnswers() {
        for readers in [0, 1, 10, 1_100, 10_000] {
            let budget = Budget(sharing: SharedBudget(limit: 256 << 20, workers: 1))
            // Each connection takes as much as it can.
            for _ in 0..<readers {
                var unread = 0
                while unread < 256 << 10, budget.canAnswer(unread: unread, due: 0),
                    budget.admits(answer: 40_000)
                {
                    unread += 40_000
                    budget.unwritten += 40_000
                }
            }
            #expect(budget.held <= 64 << 20)
            #expect(budget.canAnswer(unread: 0, due: 15_000), "\(readers)")
            #expect(budget.canAnswer(unread: 40_000, due: 0) == (readers < 1_000), "\(readers)")
            #expect(budget.admits(8_000))
        }
    }

    @Test("A worker keeps two shares of what it has freed, and nothing once it has no requests")
    func surplus() {
        for workers in [1, 4, 64, 1_000] {
            let shared = SharedBudget(limit: 8 << 20, workers: workers)
            let share = shared.memory.unit
            let (one, other) = (Budget(sharing: shared), Budget(sharing: shared))
            one.give(Self.cost(6 << 20, answer: 0))
            #expect(!other.admits(3 << 20), "\(workers)")
            one.takeBack(Self.cost(6 << 20, answer: 0))
            one.give(Self.cost(100, answer: 0))
            one.giveBackSurplus()
            #expect(shared.memory.borrowed == 100 + share && workers * share <= 1 << 19)
            #expect(other.admits((8 << 20) - 100 - share))
            other.giveBackUnused()
            // A little more is not worth a write.
            #expect(one.admits(2 * share))
            one.giveBackSurplus()
            #expect(shared.memory.borrowed == 100 + 2 * share)
            one.takeBack(Self.cost(100, answer: 0))
            one.giveBackUnused()
            #expect(shared.memory.borrowed == 0)
        }
    }

    @Test func answersCountBeforeTheyAreMade() {
        let budget = Budget(sharing: SharedBudget(limit: 8 << 20, workers: 1))
        let cost = Self.cost(1_000, answer: 500)
        budget.give(cost)
        #expect(budget.held == 1_000 && budget.due == 500)
        #expect(budget.admits((8 << 20) - 1_500) && !budget.admits((8 << 20) - 1_499))
        budget.takeBack(cost)
        #expect(budget.held == 0 && budget.due == 0)
        budget.unwritten = 2 << 20
        #expect(!budget.admits(answer: 1) && budget.admits(1))
        // An answer to Info fits into the rest of the limit, too.
        budget.unwritten = 0
        budget.give(Self.cost((8 << 20) - 1_000, answer: 0))
        #expect(budget.admits(answer: 1_000) && !budget.admits(answer: 1_001))
        budget.buffered = 1_000
        #expect(!budget.isFull)
        budget.buffered = 1_001
        #expect(budget.isFull)
    }

    @Test func receivedBytesCountByTheirBuffers() {
        let pinned = 3 << 20
        let budget = Budget(sharing: SharedBudget(limit: 8 << 20, workers: 1)) { pinned }
        budget.give(Self.cost(1_000, answer: 0))
        #expect(budget.held == pinned)
        budget.buffered = 4 << 20
        #expect(budget.held == 1_000 + 4 << 20)
        // A receipt's state does not count as received bytes.
        budget.buffered = 0
        budget.give(.receipt(1 << 20, Self.call))
        #expect(budget.held > 4 << 20)
    }

    @Test("line 79: receipts share half of the memory, and one leaves memory for its answer")
    func receipts() {
        let budget = Budget(sharing: SharedBudget(limit: 8 << 20, workers: 1))
        #expect(budget.canFit(receipt: 3 << 20) && !budget.canFit(receipt: 3 << 20 + 1))
        budget.give(receipt: 3 << 20)
        #expect(!budget.isLow && budget.admits(receipt: 1 << 20))
        #expect(!budget.admits(receipt: 1 << 20 + 1) && budget.admits(5 << 20))
        budget.give(receipt: 1)
        #expect(budget.isLow)
    }

    // MARK: Receipt shares of a turn

    @Test("line 76: the share of receipts in a turn ends by bytes or time, and renews each turn")
    func turns() {
        var turns = ReceiptQuota()
        var read = 0
        while case let slice = turns.slice(in: 1), slice > 0 {
            #expect(slice <= ServerLimits.receiptSliceBytes)
            turns.didRead(slice, nanoseconds: 1)
            read += slice
        }
        #expect(read == ReceiptQuota.bytesPerTurn)
        #expect(turns.slice(in: 2) == ServerLimits.receiptSliceBytes)
        turns.didRead(10, nanoseconds: ReceiptQuota.nanosecondsPerTurn - 1)
        #expect(turns.slice(in: 2) > 0)
        turns.didRead(10, nanoseconds: 1)
        #expect(turns.slice(in: 2) == 0)
        #expect(turns.slice(in: 3) > 0)
        turns.didRead(10, nanoseconds: .max)
        #expect(turns.slice(in: 3) == 0 && turns.slice(in: 4) > 0)
    }

    @Test("line 80: the share of frames in a turn ends by frames and turns, and renews each turn")
    func frames() {
        var share = TurnQuota.frames
        let (all, each) = (share.limit, TurnQuota.framesPerConnection)
        // Rows: frames taken, by how many connections, in which turn, and whether any are left.
        for (taken, connections, turn, isLeft) in [
            (all - each - 1, 1, 0, true), (1 - each, 1, 0, false),
            (0, 0, 1, true), (0, all / each - 1, 1, true), (0, 1, 1, false),
            (all - each, 1, 2, false), (0, 0, 3, true),
        ] as [(Int, Int, UInt64, Bool)] {
            _ = share.isLeft(in: turn)
            for _ in 0..<connections { share.use(frames: taken) }
            #expect(share.isLeft(in: turn) == isLeft, "\(taken), \(connections), \(turn)")
        }
    }

    @Test("line 80: the share of long answers in a turn ends by bytes, and renews each turn")
    func longAnswers() {
        var share = TurnQuota.longAnswerBytes
        var left: [Bool] = []
        for (bytes, turn) in [
            (share.limit - 1, 0), (1, 0), (0, 1),
            (share.limit, 1),
        ] as [(Int, UInt64)] {
            share.use(bytes)
            left.append(share.isLeft(in: turn))
        }
        #expect(left == [true, false, true, false])
    }

    // MARK: Returning memory

    @Test func memoryIsReturnedAfterAFloodAtTheStart() {
        let mega = 1 << 20
        var known = MemoryReturn(resident: 20 * mega)
        // Without the size at the start, a first look amid a flood has nothing to compare with.
        var unknown = MemoryReturn(resident: nil)
        let answers = [
            known.shouldReturn(resident: 90 * mega, held: 0, at: 0),
            unknown.shouldReturn(resident: 90 * mega, held: 0, at: 0),
        ]
        #expect(answers == [true, false])
    }

    @Test func memoryIsReturnedAfterAFlood() {
        var memory = MemoryReturn(resident: nil)
        let mega = 1 << 20
        let looks = ([0, 1_999, 2_000] as [UInt64]).map { memory.isDue(at: $0) }
        #expect(looks == [true, false, true])
        func shouldReturn(_ resident: Int, held: Int, at now: UInt64) -> Bool {
            memory.shouldReturn(resident: resident * mega, held: held * mega, at: now)
        }
        let steps = [
            // In order: the first check; too little; in use; free.
            shouldReturn(20, held: 0, at: 0), shouldReturn(35, held: 0, at: 5_000),
            shouldReturn(220, held: 150, at: 10_000), shouldReturn(220, held: 1, at: 15_000),
        ]
        #expect(steps == [false, false, false, true])
        // Too early: most of the memory was freed later.
        memory.didReturn(resident: 210 * mega)
        let later = [
            // Again after 2 s, then after 4, and at once when the memory has grown.
            shouldReturn(210, held: 0, at: 16_000), shouldReturn(210, held: 0, at: 17_000),
            shouldReturn(210, held: 0, at: 20_000), shouldReturn(226, held: 0, at: 20_500),
            shouldReturn(226, held: 110, at: 90_000),
        ]
        #expect(later == [false, true, false, true, false])
        memory.didReturn(resident: 30 * mega)
        #expect(!shouldReturn(30, held: 0, at: 100_000))
    }
}
