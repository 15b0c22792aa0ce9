import AssayBytes
import Testing

@testable import Assay

/// Reads length-prefixed runs of octets up to an empty run. That is enough to show what a
/// resumable reader receives.
private struct RunReader: ResumableReader {
    var runs: [[UInt8]] = []
    /// The largest span that a step received.
    var largest = 0
    private var isFinished = false

    mutating func step(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        largest = max(largest, bytes.count)
        if isFinished { return .finished }
        guard bytes.count > 0 else { return .needs(1) }
        let count = Int(bytes[0]) + 1
        guard bytes.count >= count else { return .needs(count) }
        runs.append(bytes.array(1..<count))
        isFinished = count == 1
        return .consumed(count)
    }
}

@Suite struct ChunkFeederTests {
    private static let runs: [[UInt8]] = [[1, 2, 3], [9], Array(repeating: 7, count: 200), []]
    private static let text = runs.flatMap { [UInt8($0.count)] + $0 }

    @Test(arguments: [1, 2, 3, 4, 5, 7, 100, 201, 1000])
    func everyChunkSizeReadsTheSame(size: Int) throws {
        var (feeder, reader) = (ChunkFeeder(), RunReader())
        for start in stride(from: 0, to: Self.text.count, by: size) {
            let chunk = Array(Self.text[start..<min(start + size, Self.text.count)])
            #expect(try feeder.feed(chunk.span, to: &reader) == chunk.count)
            #expect(feeder.carried <= 200)
        }
        #expect(try feeder.finish(&reader))
        #expect(reader.runs == Self.runs)
    }

    @Test func reportsConsumedBytes() throws {
        var (feeder, reader) = (ChunkFeeder(), RunReader())
        let more = Self.text + [1, 2]
        #expect(try feeder.feed(more.span, to: &reader) == Self.text.count)
        #expect(feeder.carried == 0)
    }

    @Test func truncatedAtEveryByte() throws {
        for count in Self.text.indices {
            var (feeder, reader) = (ChunkFeeder(), RunReader())
            let part = Array(Self.text[..<count])
            _ = try feeder.feed(part.span, to: &reader)
            #expect(try feeder.finish(&reader) == false, "\(count)")
        }
    }
}
