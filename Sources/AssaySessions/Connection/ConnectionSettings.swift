package import AssayIO
package import AssayService
package import AssayWire

/// The settings of connections and their protocols. A reload replaces them.
package struct ConnectionSettings {
    package let http: HTTPSettings
    /// The TLS context of TLS listeners; nil if there are none.
    package let tls: TLSContext?
    /// Users that can connect to Unix sockets; nil to rely on the permissions of the file.
    package let allowedUsers: Set<UInt32>?
    package let limits: ServerLimits
    /// Decodes the frames of clients, by the limits.
    package let decoder: FrameDecoder

    package init(
        http: HTTPSettings, tls: TLSContext?, allowedUsers: Set<UInt32>?, limits: ServerLimits
    ) {
        self.http = http
        self.tls = tls
        self.allowedUsers = allowedUsers
        self.limits = limits
        decoder = FrameDecoder(for: limits)
    }

    /// The reason to reject this peer, or nil to accept it.
    func refusal(of stream: Stream) -> ResponseHead? {
        if let tls, !stream.isPeerAllowed(by: tls) { return .forbiddenClient }
        guard let allowedUsers, let user = stream.peerUser, !allowedUsers.contains(user) else {
            return nil
        }
        return .forbiddenUser
    }
}
