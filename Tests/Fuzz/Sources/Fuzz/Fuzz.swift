import FuzzTargets
import CLibFuzzer
import Foundation

/// What libFuzzer calls. Seeds and dictionary are written into the folder that
/// `ASSAY_FUZZ_SEEDS` names, before libFuzzer reads it. With `ASSAY_FUZZ_LIST` the targets' names
/// are all that is done.
@c(LLVMFuzzerInitialize)
public func initialize(_ count: OpaquePointer?, _ arguments: OpaquePointer?) -> CInt {
    if Fuzz.environment["ASSAY_FUZZ_LIST"] != nil {
        for target in Fuzz.targets() { print(target.name) }
        exit(0)
    }
    guard let folder = Fuzz.environment["ASSAY_FUZZ_SEEDS"] else { return 0 }
    for (index, seed) in Fuzz.target.seeds.enumerated() {
        Fuzz.write(seed, to: "\(folder)/seed-\(index)")
    }
    // An empty dictionary is refused.
    let words = (Fuzz.target.words + [[0]]).map { word in
        "\"" + word.map { Fuzz.escaped($0) }.joined() + "\"\n"
    }
    Fuzz.write(Array(words.joined().utf8), to: folder + ".dict")
    return 0
}

@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
    Fuzz.target.check(input.span)
    return 0
}

@c(LLVMFuzzerCustomMutator)
public func mutate(
    _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ largest: Int, _ seed: UInt32
) -> Int {
    guard let mutate = Fuzz.target.mutate else {
        return LLVMFuzzerMutate(start, count, largest)
    }
    var mutation = FuzzMutation(seed: UInt64(seed), bytes: Fuzz.mutated)
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let result = mutate(input, &mutation)
    guard !result.isEmpty, result.count <= largest, result != input else {
        return LLVMFuzzerMutate(start, count, largest)
    }
    start.update(from: result, count: result.count)
    return result.count
}

enum Fuzz {
    static let environment = ProcessInfo.processInfo.environment

    static let target: FuzzTarget = {
        let all = targets()
        let name = environment["ASSAY_FUZZ_TARGET"] ?? ""
        guard let target = all.first(where: { $0.name == name }) else {
            fatalError("ASSAY_FUZZ_TARGET is none of \(all.map(\.name))")
        }
        return target
    }()

    /// Signed by the authority in the folder beside: so that what is kept in a corpus is as
    /// genuine in the next run.
    static func targets() -> [FuzzTarget] {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        folder.appendPathComponent("Authority")
        do {
            let meetsApple = environment["ASSAY_FUZZ_OTHERS"] != nil
            let authority = try FuzzAuthority(meetsApple: meetsApple) { name in
                try? Array(Data(contentsOf: folder.appendingPathComponent(name)))
            }
            return FuzzTarget.all(authority)
        } catch {
            fatalError("no authority in \(folder.path): \(error)")
        }
    }

    /// libFuzzer's own mutation of a part of an input.
    static func mutated(_ bytes: [UInt8], _ largest: Int) -> [UInt8] {
        let largest = max(largest, bytes.count, 1)
        var buffer = bytes + [UInt8](repeating: 0, count: largest - bytes.count)
        let count = buffer.withUnsafeMutableBufferPointer {
            LLVMFuzzerMutate($0.baseAddress!, bytes.count, largest)
        }
        return Array(buffer.prefix(count))
    }

    static func write(_ bytes: [UInt8], to path: String) {
        do {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        } catch {
            fatalError("\(path): \(error)")
        }
    }

    /// A byte of a word as libFuzzer's dictionaries have it.
    static func escaped(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return "\\x" + (digits.count < 2 ? "0" : "") + digits
    }
}
