import AssayIO
import AssayWire

extension ServerConfiguration.Reloadable {
    /// The reason to reject this peer, or nil to accept it.
    func refusal(of stream: Stream) -> ResponseHead? {
        if let tls, !stream.isPeerAllowed(by: tls) { return .forbiddenClient }
        guard let allowedUsers, let user = stream.peerUser, !allowedUsers.contains(user) else {
            return nil
        }
        return .forbiddenUser
    }
}
