/// A queue of messages, first in, first out.
package final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Locked<[Message]>([])
    private let available: Semaphore

    package init() throws(LoopError) { available = try Semaphore() }

    package func put(_ message: Message) {
        messages.withLock { $0.append(message) }
        available.signal()
    }

    /// Waits for the next message, and removes it.
    package func take() -> Message {
        available.wait()
        // Each message has one signal, so the array is not empty.
        return messages.withLock { $0.removeFirst() }
    }
}
