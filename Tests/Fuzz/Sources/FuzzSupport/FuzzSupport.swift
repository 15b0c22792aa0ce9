import Foundation

/// Writes the inputs to begin with into the folder that `ASSAY_FUZZ_SEEDS` names, before libFuzzer
/// reads it.
public func writeSeeds(_ seeds: [[UInt8]]) -> CInt {
    guard let folder = ProcessInfo.processInfo.environment["ASSAY_FUZZ_SEEDS"] else { return 0 }
    for (index, seed) in seeds.enumerated() {
        let file = URL(fileURLWithPath: folder).appendingPathComponent("seed-\(index)")
        try? Data(seed).write(to: file)
    }
    return 0
}

/// libFuzzer's input to one of the doors.
public func pass(
    _ start: UnsafePointer<UInt8>?, _ count: Int, to door: (Span<UInt8>) -> Void
) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
    door(input.span)
    return 0
}
