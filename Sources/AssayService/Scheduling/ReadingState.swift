/// What the connections of a worker have to read.
package protocol ReadingState {
    /// Open connections.
    var connections: Int { get }
    /// Whether connections with received bytes wait for their next turn, or resumed reading and
    /// were not polled yet.
    var hasMoreToRead: Bool { get }
    /// Makes the next poll of the sockets return at once if connections resumed reading.
    func wakeIfReadingResumed()
}
