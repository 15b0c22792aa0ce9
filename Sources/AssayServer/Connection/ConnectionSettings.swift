import AssayIO
import AssayWire

/// The settings of connections and their protocols. A reload replaces them.
struct ConnectionSettings {
    let http: HTTPSettings
    /// The TLS context of TLS listeners; nil if there are none.
    let tls: TLSContext?
    /// Users that can connect to Unix sockets; nil to rely on the permissions of the file.
    let allowedUsers: Set<UInt32>?
    /// Decodes the frames of clients, by the limits.
    let decoder: FrameDecoder

    /// The reason to reject this peer, or nil to accept it.
    func refusal(of stream: Stream) -> ResponseHead? {
        if let tls, !stream.isPeerAllowed(by: tls) { return .forbiddenClient }
        guard let allowedUsers, let user = stream.peerUser, !allowedUsers.contains(user) else {
            return nil
        }
        return .forbiddenUser
    }
}
