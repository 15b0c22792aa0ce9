public import AssayIO
public import AssayModels
public import AssayWire

/// A client of one server. Any number of tasks may use it at once: their calls share a
/// connection, and answers are taken as they come.
///
/// ```swift
/// let client = try await AssayClient.connect(to: Endpoint("tcp://127.0.0.1:7443"))
/// let answer = try await client.verify(jws, VerifyCall(kind: .transaction))
/// if answer.verification.verdict == .valid { … }
/// ```
///
/// It connects when there is something to send, and again after a loss.
public final class AssayClient: Sendable {
    private let channel: Channel

    /// A client that has not connected yet.
    public convenience init(
        address: Endpoint, options: ClientOptions = ClientOptions()
    ) throws(ClientError) {
        do throws(LoopError) {
            var options = options
            if address.isTLS, options.tls == nil { options.tls = try .ofTheSystem() }
            self.init(address: address, options: options, loop: try SharedLoop.get())
        } catch {
            throw .connectFailed(error)
        }
    }

    /// A client on a loop of the caller's, which has to run until the client is closed.
    package init(address: Endpoint, options: ClientOptions = ClientOptions(), loop: EventLoop) {
        channel = Channel(to: address, options: options, on: loop)
    }

    deinit { channel.close() }

    /// A client that has connected, and has found an Assay server there.
    public static func connect(
        to address: Endpoint, options: ClientOptions = ClientOptions()
    ) async throws(ClientError) -> AssayClient {
        let client = try AssayClient(address: address, options: options)
        try await client.ping()
        return client
    }

    /// Where it connects to.
    public var address: Endpoint { channel.endpoint }

    /// Has evidence verified. A refusal is an answer: look at its verdict.
    ///
    /// - Parameters:
    ///   - evidence: As the app or Apple sent it; the body of a notification as it was posted.
    ///   - app: Name of the server's app entry; empty: its default one.
    ///   - timeout: How long the answer is worth waiting for, at most 30 s; nil: as the options
    ///     have it.
    ///   - mayWait: For bulk work: rather wait than be refused by a busy server. It is served
    ///     after calls that do not say so; give it a long timeout.
    public func verify(
        _ evidence: [UInt8], _ call: VerifyCall, app: String = "", timeout: Duration? = nil,
        traceparent: String = "", mayWait: Bool = false
    ) async throws(ClientError) -> VerifyAnswer {
        let answer = try await perform(
            ClientRequest(
                .verify(call), body: evidence, app: app, traceparent: traceparent,
                timeout: timeout, mayWait: mayWait))
        guard case .verification(let verification) = answer.result else {
            throw .unexpectedAnswer
        }
        return VerifyAnswer(verification: verification, payloadJSON: answer.body)
    }

    /// Whether the server is serving.
    public func health(timeout: Duration? = nil) async throws(ClientError) -> Bool {
        let answer = try await perform(ClientRequest(.health, timeout: timeout))
        guard case .health(let isServing) = answer.result else { throw .unexpectedAnswer }
        return isServing
    }

    /// What the server is: version, kinds, limits, roots.
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

    /// Closes the connection. Calls that have no answer yet, and later ones, end with `closed`.
    public func close() { channel.close() }

    private func perform(_ request: ClientRequest) async throws(ClientError) -> ClientAnswer {
        let id = channel.newId()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<ClientResult, Never>) in
                channel.send(request, id: id) { waiter.resume(returning: $0) }
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { channel.cancel(id) }
            }
        } onCancel: {
            channel.cancel(id)
        }
        return try result.get()
    }
}

/// The answer to one verification.
public struct VerifyAnswer: Equatable, Sendable {
    public let verification: Verification
    /// The signed JSON, where the call asked for it and the verdict is VALID; else empty.
    public let payloadJSON: [UInt8]
}

extension ClientError {
    fileprivate static let unexpectedAnswer = ClientError.protocolViolation(
        "an answer to another call")
}
