import Glibc

/// Opens once; threads wait until it has.
package final class Gate: Sendable {
    private let semaphore: Semaphore

    package init() throws(LoopError) { semaphore = try Semaphore() }

    package func open() { semaphore.signal() }

    package func wait() {
        semaphore.wait()
        // For whoever waits next.
        semaphore.signal()
    }
}

/// A peer that has gone is told by the write's error, not by a signal that ends the process.
package func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
}
