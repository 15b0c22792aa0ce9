import AssayIO
import AssayModels
import AssayWire

/// Listens for clients, and checks whether they are allowed.
extension ServerLoop {
    /// Listens on an endpoint. Returns the addresses, with the ports that the system chose.
    func listen(on endpoint: Endpoint) throws(LoopError) -> [Endpoint] {
        let added: [Listener]
        if let name = endpoint.inheritedName {
            added = try inherit(name, endpoint)
        } else {
            let number = shares.addListener()
            added = [
                try Listener(
                    on: loop, at: endpoint, access: configuration.socketAccess,
                    backlog: limits.backlog
                ) { [self] stream in welcome(stream, at: endpoint, number) }
            ]
        }
        // The system assigns the lowest free descriptor.
        for listener in added { ownDescriptors = max(ownDescriptors, Int(listener.descriptor) + 1) }
        shares.limit = socketLimit
        if endpoint.isTLS, handshakes == nil, let tls = configuration.tls {
            prepareHandshakes(tls)
        }
        for listener in added {
            log.write(.info, "listening", ["address": .text("\(listener.endpoint)")])
        }
        listeners += added
        return added.map(\.endpoint)
    }

    private func inherit(
        _ name: String, _ endpoint: Endpoint
    ) throws(LoopError) -> [Listener] {
        let sockets = configuration.sockets(named: name)
        guard !sockets.isEmpty else { throw .notPassed }
        var added: [Listener] = []
        for socket in sockets {
            let number = shares.addListener()
            added.append(
                try Listener(
                    on: loop, inheriting: socket, tls: endpoint.isTLS, backlog: limits.backlog
                ) { [self] stream in welcome(stream, at: endpoint, number) })
        }
        return added
    }

    private func welcome(_ stream: Stream, at endpoint: Endpoint, _ listener: Int) {
        didAccept(stream, from: listener)
        if endpoint.isTLS { handshakes?.begin(stream) } else { accept(stream) }
    }

    // MARK: Peers

    /// The reason to reject this peer, or nil to accept it.
    func refusal(of stream: Stream) -> ResponseHead? {
        if let tls = configuration.tls, !stream.isPeerAllowed(by: tls) { return .forbiddenClient }
        guard let allowed = configuration.allowedUsers, let user = stream.peerUser,
            !allowed.contains(user)
        else { return nil }
        return .forbiddenUser
    }

    /// Ends the connections of peers that are no longer allowed after a reload. Their accepted
    /// requests are answered.
    func endForbiddenConnections() {
        for connection in connections.values {
            guard case .open = connection.state, let refusal = refusal(of: connection.stream)
            else { continue }
            logFault("a peer who is not allowed any more")
            connection.end(refusal)
        }
    }
}

extension ServerConfiguration {
    /// All endpoints to listen on, including passed sockets that `listen` does not name.
    var listenOnAll: [Endpoint] {
        var names: [String] = []
        for socket in inherited
        where !isNamed("") && !isNamed(socket.name) && !names.contains(socket.name) {
            names.append(socket.name)
        }
        return listen + names.map { .inherited(name: $0) }
    }

    private func isNamed(_ name: String) -> Bool { listen.contains { $0.inheritedName == name } }

    /// The passed sockets with this name; for an empty name, also those that `listen` does not
    /// name.
    func sockets(named name: String) -> [InheritedSocket] {
        inherited.filter { socket in
            name.isEmpty
                ? socket.name.isEmpty || !isNamed(socket.name)
                : socket.name == name
        }
    }
}
