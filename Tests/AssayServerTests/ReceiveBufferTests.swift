import TestSupport
import Testing

@testable import AssayIO

/// The streams of one loop without sockets: bytes go where a read would put them.
private struct Reads {
    var arena = ReadArena()
    /// The bytes that each stream was sent and has not taken.
    var sent: [[UInt8]]
    var buffers: [ReceiveBuffer]
    var random = SplitMix(state: 1)
    private var written = 1

    init(streams: Int) {
        sent = Array(repeating: [], count: streams)
        buffers = Array(repeating: ReceiveBuffer(), count: streams)
    }

    mutating func read(_ stream: Int, upTo most: Int) {
        let space = buffers[stream].lend(from: &arena)
        #expect(space.count > 0)
        let count = min(most, space.count)
        for index in 0..<count {
            let byte = UInt8(truncatingIfNeeded: written)
            written = written &* 5 &+ 17
            unsafe space.slab.memory[space.start + index] = byte
            sent[stream].append(byte)
        }
        buffers[stream].receive(count, into: &arena)
    }

    mutating func take(_ stream: Int, _ count: Int) -> SlabBytes? {
        let count = min(count, sent[stream].count)
        guard count > 0 else { return nil }
        let bytes = buffers[stream].take(count)
        #expect(bytes.array == Array(sent[stream].prefix(count)))
        sent[stream].removeFirst(count)
        return bytes
    }

    mutating func endRead(_ stream: Int) {
        buffers[stream].compact(&arena)
        #expect(buffers[stream].unreadCount == sent[stream].count)
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension SlabBytes {
    var array: [UInt8] {
        [UInt8](capacity: count) { output in
            let span = span
            for index in span.indices { output.append(span[index]) }
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ReceiveBufferTests {
    @Test func keepsTheBytesOfEachStreamInOrder() {
        var reads = Reads(streams: 5)
        var kept: [(bytes: SlabBytes, copy: [UInt8])] = []
        for step in 0..<800 {
            let stream = step % 5
            let most = [1, 7, 300, 5_000, 70_000].randomElement(using: &reads.random)!
            reads.read(stream, upTo: most)
            if step % 3 == 0 {
                reads.buffers[stream].expect(reads.sent[stream].count + most)
            }
            while let bytes = reads.take(stream, Int.random(in: 0...9_000, using: &reads.random)) {
                kept.append((bytes, bytes.array))
                if kept.count > 50 {
                    // Later reads do not change bytes that were taken.
                    let (bytes, copy) = kept.removeFirst()
                    #expect(bytes.array == copy)
                }
            }
            reads.endRead(stream)
        }
    }

    @Test func messagesOfAnySizeAreContiguous() {
        for size in [1, 4_095, 4_096, 65_535, 65_536, 65_537, 200_000] {
            for chunk in [1_000, 65_536] {
                var reads = Reads(streams: 1)
                while reads.sent[0].count < size {
                    reads.buffers[0].expect(size)
                    reads.read(0, upTo: min(chunk, size - reads.sent[0].count))
                    reads.endRead(0)
                }
                #expect(reads.take(0, size)?.count == size)
            }
        }
    }

    @Test func aStreamWithoutUnreadBytesHoldsNoSlab() {
        var reads = Reads(streams: 2)
        reads.read(0, upTo: 100)
        weak let slab = reads.arena.slab
        _ = reads.take(0, 100)
        reads.endRead(0)
        // Moves a few bytes of another stream out of the shared slab.
        reads.read(1, upTo: 10)
        reads.endRead(1)
        reads.arena = ReadArena()
        #expect(slab == nil)
        #expect(reads.take(1, 10)?.count == 10)
    }

    @Test func smallReadsDoNotCostQuadraticTime() {
        var reads = Reads(streams: 1)
        var slabs = 0
        weak var last: Slab?
        for _ in 0..<20_000 {
            let space = reads.buffers[0].lend(from: &reads.arena)
            if space.slab !== last { slabs += 1 }
            last = space.slab
            unsafe space.slab.memory[space.start] = 1
            reads.buffers[0].receive(1, into: &reads.arena)
            reads.buffers[0].compact(&reads.arena)
        }
        #expect(reads.buffers[0].unreadCount == 20_000)
        #expect(slabs < 40)
    }

    @Test(arguments: [(100, false), (57_343, false), (57_344, true), (60_000, true)])
    func waitingBytesRetainLittleElse(count: Int, staysInItsSlab: Bool) throws {
        var reads = Reads(streams: 1)
        reads.read(0, upTo: 64_000)
        let taken = reads.take(0, 64_000)
        let all = try #require(taken)
        let waiting = all.extracting(1_000..<1_000 + count).forWaiting
        #expect(waiting.array == Array(all.array[1_000..<1_000 + count]))
        #expect(waiting.heldCount == (staysInItsSlab ? Slab.standardCapacity : count))
    }

    @Test func workersReadWhileTheLoopReceives() throws {
        try withLoop { loop in
            let total = 3_000_000
            let seen = Locked((count: 0, sum: 0))
            let done = Latch()
            let pool = try WorkerPool(count: 2, name: "read")
            let endpoint = try loop.call { () throws(LoopError) in
                try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                    stream.setHandler { [unowned stream] event in
                        guard case .received = event else { return }
                        while stream.received.unreadCount >= 1_000 {
                            let bytes = stream.received.take(1_000)
                            pool.submit {
                                let sum = bytes.array.reduce(0) { $0 + Int($1) }
                                let isAll = seen.withLock { seen in
                                    seen.count += 1_000
                                    seen.sum += sum
                                    return seen.count == total
                                }
                                if isAll { done.open() }
                            }
                        }
                    }
                    stream.resumeReading()
                }.endpoint
            }
            let bytes = (0..<total).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let client = try BlockingClient(endpoint)
            try client.send(bytes)
            #expect(done.wait())
            pool.stop()
            #expect(seen.withLock { $0.sum } == bytes.reduce(0) { $0 + Int($1) })
        }
    }
}
