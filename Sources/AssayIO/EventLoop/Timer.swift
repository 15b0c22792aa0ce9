/// Calls back after a delay, once or periodically. Works until it or its loop is closed.
package final class Timer {
    private let timer: any LoopTimer
    package private(set) var isClosing = false

    package init(on loop: EventLoop) throws(LoopError) {
        loop.preconditionCurrent()
        timer = try loop.driver.makeTimer(on: loop)
    }

    /// Starts or restarts the timer. A period of 0 means once.
    package func start(
        afterMilliseconds delay: UInt64, everyMilliseconds period: UInt64 = 0,
        _ action: @escaping () -> Void
    ) {
        precondition(!isClosing)
        // A started timer keeps itself until it is stopped or closed.
        timer.start(afterMilliseconds: delay, everyMilliseconds: period) {
            withExtendedLifetime(self) { action() }
        }
    }

    package func stop() { timer.stop() }

    package func close() {
        guard !isClosing else { return }
        isClosing = true
        timer.close()
    }
}
