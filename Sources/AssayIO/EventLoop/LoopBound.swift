/// Carries a value of the loop's thread through code on other threads: a worker passes it back to
/// the loop without access to it. The last reference can be dropped on any thread, so the value's
/// deinit must not need the loop.
package struct LoopBound<Value>: @unchecked Sendable {
    private let loop: EventLoop
    private let bound: Value

    package init(_ value: Value, to loop: EventLoop) {
        loop.preconditionCurrent()
        self.loop = loop
        bound = value
    }

    package var value: Value {
        loop.preconditionCurrent()
        return bound
    }

    /// Passes the value to an action on the loop's thread. Does nothing after the loop has ended.
    package func post(_ action: @escaping @Sendable (Value) -> Void) {
        loop.post { action(value) }
    }
}
