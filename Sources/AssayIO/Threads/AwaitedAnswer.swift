/// Waits for a request that another thread answers, and cancels it with the task. A task that is
/// cancelled before begins no request: the other thread could send it before it is cancelled.
///
/// - Parameters:
///   - cancelled: the answer to a task that was cancelled before.
///   - begin: starts the request; what it gets is called once, with the answer.
///   - cancel: ends the request early; it may come before the request and after its end.
package func awaitAnswer<Answer: Sendable>(
    cancelled: Answer, begin: (@escaping @Sendable (Answer) -> Void) -> Void,
    cancel: @Sendable () -> Void
) async -> Answer {
    await withTaskCancellationHandler {
        await withCheckedContinuation { (waiter: CheckedContinuation<Answer, Never>) in
            guard !Task.isCancelled else { return waiter.resume(returning: cancelled) }
            begin { waiter.resume(returning: $0) }
            // The cancellation handler can have run before the request was there.
            if Task.isCancelled { cancel() }
        }
    } onCancel: {
        cancel()
    }
}
