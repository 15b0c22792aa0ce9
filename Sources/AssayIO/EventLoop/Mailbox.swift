/// Messages for whoever waits for them, in the order they came.
package final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Locked<[Message]>([])
    private let available: Semaphore

    package init() throws(LoopError) { available = try Semaphore() }

    package func put(_ message: Message) {
        messages.withLock { $0.append(message) }
        available.signal()
    }

    /// Waits for the next message.
    package func take() -> Message {
        available.wait()
        // One signal a message.
        return messages.withLock { $0.removeFirst() }
    }
}
