import Testing

@testable import Assay

@Suite struct LatestPositionsTests {
    @Test func manyIds() {
        var positions = LatestPositions()
        let ids = (0..<5000).map { Array("\(2_000_000 + $0 * 7)".utf8) } + [[]]
        for (index, id) in ids.enumerated() {
            let hash = LatestPositions.hash(id.span)
            #expect(positions.position(hash) { ids[$0] == id } == nil)
            positions.insert(index, hash)
        }
        for (index, id) in ids.enumerated() {
            let hash = LatestPositions.hash(id.span)
            #expect(positions.position(hash) { ids[$0] == id } == index)
        }
        let other = LatestPositions.hash(Array("other".utf8).span)
        #expect(positions.position(other) { _ in false } == nil)
        // Two to four entries of eight octets for each id.
        #expect(positions.heldBytes >= 5001 * 16 && positions.heldBytes <= 5001 * 33)
    }

    /// Ids with the same hash differ in their octets.
    @Test func equalHashes() {
        var positions = LatestPositions()
        for index in 0..<40 { positions.insert(index, 0xFFFF_FFFF_0000_0000) }
        for index in 0..<40 {
            #expect(positions.position(0xFFFF_FFFF_1234_5678) { $0 == index } == index)
        }
        #expect(positions.position(0xFFFF_FFFF_0000_0000) { _ in false } == nil)
        #expect(positions.position(0) { _ in true } == nil)
    }
}
