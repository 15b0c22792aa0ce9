/// The socket of a stream: the system's, or a simulated one. Belongs to its loop's thread.
///
/// It reports to its stream with `didConnect`, `didRead`, `didWrite`, `didShutDown`, and, last,
/// `didClose`. It keeps the stream until then.
package protocol StreamSocket: AnyObject {
    var stream: Stream? { get set }

    /// The number of the system's descriptor; -1 without one.
    var descriptor: Int32 { get }
    /// User id of the peer of a Unix socket; nil for TCP.
    var peerUser: UInt32? { get }
    /// The client that it is from.
    var peer: PeerKey { get }
    /// Whether the peer closed or reset the connection and nothing is left to read. For a socket
    /// that is not read; a read reports it.
    var hasPeerLeft: Bool { get }
    /// Whether the peer can receive nothing more: it reset the connection, or closed both
    /// directions of a Unix socket. Bytes that it has sent are possibly left to read.
    var isPeerGone: Bool { get }
    /// Bytes that have arrived and were not read yet; 0 if that is not known.
    var unreadCount: Int { get }
    /// Bytes that were written and not sent yet.
    var unwrittenCount: Int { get }

    func startReading() throws(LoopError)
    func stopReading()
    /// Writes the bytes after all earlier ones. `didWrite` reports the end of a write that took
    /// time.
    func write(_ bytes: [UInt8]) throws(LoopError)
    /// Closes the writing side after all pending bytes.
    func shutDown() throws(LoopError)
    /// Drops what was not written. Called once.
    func close()
    /// Moves the connection to another loop; nil if the system has no descriptor for it. The socket
    /// closes without the connection.
    func detach() -> (any DetachedConnection)?
}

/// A connection between two loops: accepted on one, and not opened on the other yet. Closes with
/// its last reference unless it was opened.
package protocol DetachedConnection: AnyObject, Sendable {
    /// Opens the connection, once.
    func open(on loop: EventLoop) throws(LoopError) -> Stream
}

/// What a read of a socket brought.
package enum SocketRead {
    /// Bytes in the memory that the stream lent; possibly none.
    case bytes(Int)
    /// The peer closed its writing side.
    case ended
    case failed(LoopError)
}
