public import AssayIO
public import AssayModels
public import AssayWire

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
            throw .invalidAddress("no address: name one, \(schemes)")
        }
        if let other = addresses.first(where: { !$0.isConnectable }) {
            let kind = other.isHTTP ? "for HTTP" : "of a server's service manager"
            throw .invalidAddress("\(other) is \(kind): a client needs \(schemes)")
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

    /// Verifies evidence. A refusal is an answer, not an error: check its verdict.
    ///
    /// - Parameters:
    ///   - evidence: The evidence as the app or Apple sent it; for a notification, the posted
    ///     body.
    ///   - call: The kind of the evidence, the expectations, and the parts of the result.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for the timeout of the
    ///     options.
    ///   - mayWait: Asks a busy server to queue the call instead of refusing it, for bulk work.
    ///     The server serves such calls after all others; use a long timeout.
    public func verify(
        _ evidence: [UInt8], _ call: VerifyCall, app: String = "", timeout: Duration? = nil,
        mayWait: Bool = false
    ) async throws(ClientError) -> VerifyAnswer {
        let answer = try await perform(
            ClientRequest(
                .verify(call), body: evidence, app: app, timeout: timeout, mayWait: mayWait))
        guard case .verification(let verification) = answer.result else {
            throw .unexpectedAnswer
        }
        return VerifyAnswer(verification: verification, payloadJSON: answer.body)
    }

    /// Verifies items of evidence, and returns what the customer owns. A refused item is an answer,
    /// not an error: check its verdict. The order of the items never changes the answer.
    ///
    /// - Parameters:
    ///   - items: The evidence, at most as many items as the server's limit
    ///     (`ServerInfo.Limits.resolveItems`).
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - expectations: The caller's expectations of every item.
    ///   - payloads: The parts of each valid item to return.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for the timeout of the
    ///     options.
    ///   - mayWait: Asks a busy server to queue the call instead of refusing it, for bulk work.
    public func resolve(
        _ items: [ResolveItem], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(),
        expecting expectations: Expectations = .none, returning payloads: ReturnedPayloads = [],
        app: String = "", timeout: Duration? = nil, mayWait: Bool = false
    ) async throws(ClientError) -> ResolveAnswer {
        let call = ResolveCall(
            items: items.map { item in
                ResolveCall.Item(
                    item.kind.map { .named($0) } ?? .detected,
                    length: UInt32(clamping: item.evidence.count), label: item.label)
            },
            at: moment, policy: policy, expectations: expectations,
            returnsTypedPayloads: payloads.contains(.typed),
            returnsPayloadJSON: payloads.contains(.json))
        var body: [UInt8] = []
        body.reserveCapacity(items.reduce(0) { $0 + $1.evidence.count })
        for item in items { body += item.evidence }
        let answer = try await perform(
            ClientRequest(.resolve(call), body: body, app: app, timeout: timeout, mayWait: mayWait))
        guard case .resolution(let resolution) = answer.result else { throw .unexpectedAnswer }
        guard let resolved = ResolveAnswer(resolution, answer.body, itemCount: items.count) else {
            throw .protocolViolation("the answer does not fit the items")
        }
        return resolved
    }

    /// Has the server ask the App Store for a customer's purchases, and returns what the customer
    /// owns. The server verifies every answer.
    ///
    /// - Parameters:
    ///   - transactionId: Any transaction identifier of the customer.
    ///   - lists: The lists to ask for; empty for all.
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - returningPayloads: Whether to return the typed payload of each answer.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for 30 s.
    public func fetch(
        of transactionId: String, lists: [FetchCall.List] = [], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), returningPayloads: Bool = false,
        app: String = "", timeout: Duration? = nil
    ) async throws(ClientError) -> Fetched {
        try await fetch(
            FetchCall(
                of: transactionId, lists: lists, at: moment, policy: policy,
                returnsTypedPayloads: returningPayloads),
            app: app, timeout: timeout)
    }

    /// Has the server ask the App Store for the purchases of the customer whom evidence names: by
    /// the newest transaction in a token, a notification, an answer or a receipt.
    ///
    /// The server does not verify the evidence, but every answer of the App Store.
    ///
    /// - Parameters:
    ///   - evidence: Exactly as it was received, at most 1 MiB.
    ///   - lists: The lists to ask for; empty for all.
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - returningPayloads: Whether to return the typed payload of each answer.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for 30 s.
    public func fetch(
        by evidence: [UInt8], lists: [FetchCall.List] = [], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), returningPayloads: Bool = false,
        app: String = "", timeout: Duration? = nil
    ) async throws(ClientError) -> Fetched {
        try await fetch(
            FetchCall(
                of: "", lists: lists, at: moment, policy: policy,
                returnsTypedPayloads: returningPayloads),
            by: evidence, app: app, timeout: timeout)
    }

    private func fetch(
        _ call: FetchCall, by evidence: [UInt8] = [], app: String, timeout: Duration?
    ) async throws(ClientError) -> Fetched {
        let answer = try await perform(
            ClientRequest(
                .fetch(call), body: evidence, app: app,
                timeout: timeout ?? ClientOptions.longestTimeout))
        guard case .fetched(let fetched) = answer.result else { throw .unexpectedAnswer }
        return fetched
    }

    /// Returns whether the server is serving.
    public func health(timeout: Duration? = nil) async throws(ClientError) -> Bool {
        let answer = try await perform(ClientRequest(.health, timeout: timeout))
        guard case .health(let isServing) = answer.result else { throw .unexpectedAnswer }
        return isServing
    }

    /// Returns the server's version, kinds, limits and roots.
    public func info(timeout: Duration? = nil) async throws(ClientError) -> ServerInfo {
        let answer = try await perform(ClientRequest(.info, timeout: timeout))
        guard case .info(let info) = answer.result else { throw .unexpectedAnswer }
        return info
    }

    /// Returns when the server has answered.
    public func ping(timeout: Duration? = nil) async throws(ClientError) {
        let answer = try await perform(ClientRequest(.ping, timeout: timeout))
        guard case .pong = answer.result else { throw .unexpectedAnswer }
    }

    /// Closes the connection. Outstanding and later calls fail with `closed`.
    public func close() { channel.close() }

    private func perform(_ request: ClientRequest) async throws(ClientError) -> ClientAnswer {
        do throws(EmptyExpectation) {
            try request.call.requireExpectedValues()
        } catch {
            throw .invalidArgument("\(error)")
        }
        let id = channel.newId()
        let result = await awaitAnswer(cancelled: ClientResult.failure(.cancelled)) { end in
            channel.send(request, id: id, completion: end)
        } cancel: {
            channel.cancel(id)
        }
        return try result.get()
    }
}

/// The answer to one verification.
public struct VerifyAnswer: Equatable, Sendable {
    /// The verdict, and the typed payload if the call requested it.
    public let verification: Verification
    /// The signed JSON if the call requested it and the verdict is VALID; otherwise empty.
    public let payloadJSON: [UInt8]
}

extension ClientError {
    fileprivate static let unexpectedAnswer = ClientError.protocolViolation(
        "an answer to another call")
}
