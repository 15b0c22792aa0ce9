import AssayModels
import AssayWire
import Foundation
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

@Suite struct SimulationTests {
    /// 10,000 in the long form, which `ASSAY_SEEDS` asks for. A process has its own order of hashed
    /// elements: with `SWIFT_DETERMINISTIC_HASHING=1` a seed repeats its life in every process.
    private static let seeds =
        ProcessInfo.processInfo.environment["ASSAY_SEEDS"].flatMap { UInt64($0) } ?? 100

    @Test("In random lives, each request is answered once, rightly, and nothing is held at the end")
    func randomLives() throws {
        var (asked, answered) = (0, 0)
        for seed in 1...Self.seeds {
            let life = try RandomLife(seed: seed)
            life.live()
            #expect(life.problem == nil, "seed \(seed)")
            asked += life.asked
            answered += life.answered
        }
        // Lives in which nothing happens would prove nothing.
        #expect(answered > asked / 2)
        print("simulation: \(Self.seeds) lives, \(asked) requests, \(answered) answers")
    }

    @Test("A seed repeats a life: the same requests, answers and turns")
    func repeats() throws {
        func life() throws -> [Int] {
            let life = try RandomLife(seed: 7)
            life.live()
            return [life.asked, life.answered]
        }
        let first = try life()
        #expect(try life() == first)
        #expect(first[0] > 0)
    }
}
