/// Calls back at the end of each turn, after all ready sockets have been read and all posted jobs
/// have run: the time to process the turn's input as a batch. Never causes a turn itself.
package final class TurnEnd {
    private let hook: any LoopHook

    package init(on loop: EventLoop, _ action: @escaping () -> Void) throws(LoopError) {
        loop.preconditionCurrent()
        hook = try loop.driver.makeTurnEnd(on: loop) { [unowned loop] in
            loop.didPoll()
            action()
        }
    }

    package func close() { hook.close() }
}
