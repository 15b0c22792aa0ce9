import AssayIO
import Glibc
import TestSupport
import Testing

/// What a thread's heap keeps of memory that was freed.
@Suite struct FreeMemoryTests {
    /// Runs in its own process: the bounds are the process's, and its memory is measured.
    @Test(
        "After large bodies, a thread's heap keeps little of what it has freed",
        .disabled(if: Sanitizer.isOn, "a sanitizer has heaps of its own"))
    func heap() async {
        await #expect(processExitsWith: .success) {
            FreeMemory.limitHeaps()
            let kept = FreeMemoryTests.kept()
            guard kept <= FreeMemory.keptByHeap + 2 << 20 else { exit(EXIT_FAILURE) }
        }
    }

    /// Frees a large block, as after a large body, then many small ones that the heap ends with.
    ///
    /// - Returns: the growth of resident memory after free memory was returned.
    private static func kept() -> Int {
        let before = resident()
        hold(blocks: 1, of: 24 << 20)
        hold(blocks: 40, of: 1 << 20)
        FreeMemory.release()
        return resident() - before
    }

    private static func hold(blocks: Int, of bytes: Int) {
        let blocks = (0..<blocks).map { _ in [UInt8](repeating: 1, count: bytes) }
        precondition(blocks.allSatisfy { $0.last == 1 })
    }

    private static func resident() -> Int { ProcessFacts.ownResidentBytes ?? 0 }
}
