/// Carries a value that only the loop's thread may touch through code that other threads run: a
/// worker hands it back to the loop without ever looking at it. Whoever drops the last reference
/// runs the value's deinit, so that must not need the loop.
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
}
