public import AssayIO
import AssayModels
import AssayWire

/// A client of a server, or of several that take over from each other. Multiple tasks can use it
/// concurrently: their calls share one connection, and answers arrive in any order.
///
/// ```swift
/// let client = try await AssayClient.connect(to: Endpoint("tcp://127.0.0.1:7443"))
/// let answer = try await client.resolve(
///     [ResolveItem(jws)],
///     expecting: Expectations(bundleId: "com.example.game", appAccountToken: user))
/// let groups = answer.entitlements.apps.flatMap(\.subscriptionGroups)
/// if groups.contains(where: \.isEntitled) { … }
/// ```
///
/// A verdict of `verify` says that a purchase is genuine, and not that it has not expired.
///
/// The client connects when it has something to send. After a lost connection, and when a server
/// drains, it continues with the next address.
public final class AssayClient: Sendable {
    private let channel: Channel
    #if ServerSide
        private let observer: CallObserver
    #endif

    /// Creates a client without connecting.
    public convenience init(
        address: Endpoint, options: ClientOptions = ClientOptions()
    ) throws(ClientError) {
        try self.init(addresses: [address], options: options)
    }

    /// Creates a client of several servers without connecting. If an address fails, the client
    /// continues with the next one, and after the last with the first.
    ///
    /// Throws `invalidAddress` without an address, and for one of a kind that only servers use,
    /// such as HTTP.
    public convenience init(
        addresses: [Endpoint], options: ClientOptions = ClientOptions()
    ) throws(ClientError) {
        let schemes = "tcp://HOST:PORT, tls://HOST:PORT or unix:PATH"
        guard !addresses.isEmpty else {
            throw ClientError(.invalidAddress, "no address: name one, \(schemes)")
        }
        if let other = addresses.first(where: { !$0.isConnectable }) {
            let kind = other.isHTTP ? "for HTTP" : "of a server's service manager"
            throw ClientError(
                .invalidAddress, "\(other) is \(kind): a client needs \(schemes)")
        }
        do throws(LoopError) {
            var options = options
            if options.tls == nil, addresses.contains(where: { $0.isTLS }) {
                options.tls = try .ofTheSystem()
            }
            self.init(addresses: addresses, options: options, loop: try SharedLoop.get())
        } catch {
            throw .connectFailed(error)
        }
    }

    /// Creates a client on the given event loop, which has to run until the client is closed.
    package init(
        addresses: [Endpoint], options: ClientOptions = ClientOptions(), loop: EventLoop
    ) {
        channel = Channel(to: addresses, options: options, on: loop)
        #if ServerSide
            observer = CallObserver(options.logger, server: addresses[0])
        #endif
    }

    deinit { channel.close() }

    /// Connects a new client and confirms with a ping that an Assay server answers.
    public static func connect(
        to address: Endpoint, options: ClientOptions = ClientOptions()
    ) async throws(ClientError) -> AssayClient {
        let client = try AssayClient(address: address, options: options)
        try await client.ping()
        return client
    }

    /// Reads the addresses in the variable `ASSAY_ADDRESS`, separated by commas or spaces.
    ///
    /// - Returns: The addresses; empty if there is no such variable.
    public static func addresses(
        in environment: [String: String]
    ) throws(EndpointError) -> [Endpoint] {
        var addresses: [Endpoint] = []
        let words = environment["ASSAY_ADDRESS", default: ""].split { $0 == "," || $0 == " " }
        for word in words { addresses.append(try Endpoint(String(word))) }
        return addresses
    }

    /// The first address.
    public var address: Endpoint { channel.endpoints[0] }

    /// The addresses of the servers, in the order in which the client tries them.
    public var addresses: [Endpoint] { channel.endpoints }

    /// Closes the connection. Outstanding and later calls fail with `closed`.
    public func close() { channel.close() }

    func perform(_ request: ClientRequest) async throws(ClientError) -> ClientAnswer {
        do throws(EmptyExpectation) {
            try request.call.requireExpectedValues()
        } catch {
            throw ClientError(.invalidArgument, "\(error)")
        }
        #if ServerSide
            let result = await observer.observe(request) { await answer(to: $0) }
        #else
            let result = await answer(to: request)
        #endif
        return try result.get()
    }

    private func answer(to request: ClientRequest) async -> ClientResult {
        let id = channel.newId()
        return await awaitAnswer(cancelled: ClientResult.failure(.cancelled)) { end in
            channel.send(request, id: id, completion: end)
        } cancel: {
            channel.cancel(id)
        }
    }
}
