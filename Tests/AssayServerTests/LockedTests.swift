import AssayIO
import Foundation
import Testing

/// Fails under ThreadSanitizer if the sanitizer does not understand the lock.
@Suite struct LockedTests {
    @Test func threadsThatContendLoseNothing() {
        let (threads, times) = (8, 5_000)
        let state = Locked((count: 0, list: [Int]()))
        let group = DispatchGroup()
        for thread in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                for index in 0..<times {
                    state.withLock { state in
                        state.count += 1
                        state.list.append(thread * times + index)
                    }
                }
                group.leave()
            }
        }
        group.wait()
        let (count, list) = state.withLock { ($0.count, $0.list) }
        #expect(count == threads * times)
        #expect(list.sorted() == Array(0..<threads * times))
    }

    @Test func anErrorUnlocks() {
        struct Refused: Error {}
        let state = Locked(1)
        #expect(throws: Refused.self) {
            try state.withLock { value throws(Refused) in
                value = 2
                throw Refused()
            }
        }
        #expect(state.withLock { $0 } == 2)
    }

    @Test func theValueEndsWithTheLock() {
        final class Owned: Sendable {}
        weak var seen: Owned?
        do {
            let state = Locked(Owned())
            seen = state.withLock { $0 }
            #expect(seen != nil)
        }
        #expect(seen == nil)
    }
}
