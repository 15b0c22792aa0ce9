/// Where streams come from: a listening socket of the system, or a simulated one. Belongs to its
/// loop's thread.
package protocol StreamListener: AnyObject {
    var endpoint: Endpoint { get }
    /// The number of the system's descriptor; -1 without one.
    var descriptor: Int32 { get }
    var isPaused: Bool { get }
    /// Stops accepting. Further connections wait in the listener's queue.
    func pause()
    func resume()
    /// Closes the listener. Accepts queued connections first, so that they are not reset.
    func finish()
    /// Closes the listener at once.
    func close()
}
