package import AssayIO
import AssayWire
import Synchronization

/// The connection to a server, its replacement after a loss, and the requests that wait for
/// either. Any thread can call `newId`, `send`, `cancel` and `close`; only the loop's thread uses
/// the rest, hence `@unchecked Sendable`.
package final class Channel: @unchecked Sendable {
    /// The servers, in the order in which they are tried. At least one.
    package let endpoints: [Endpoint]
    package let options: ClientOptions
    package let loop: EventLoop

    private let lastId = Atomic<UInt64>(0)
    private let inbox = Locked<[Message]>([])

    private enum Message: Sendable {
        case send(ClientRequest, id: UInt64, completion: @Sendable (ClientResult) -> Void)
        case cancel(UInt64)
        case close
    }

    // Only the loop's thread uses the following.

    private enum State {
        /// Not connected: no request waits, or the next attempt is not due yet.
        case disconnected
        case connecting(ClientConnection)
        case connected(ClientConnection)
        case closed
    }

    private var state = State.disconnected
    /// Connections that take no new requests and still have outstanding answers.
    private var draining: [ClientConnection] = []
    private var waiting = CallQueue()
    private var backoff: Backoff
    /// The loop time at which the current connection opened.
    private var openedAt: UInt64 = 0
    /// The index of the endpoint of the current or next connection.
    private var position = 0
    /// Endpoints that failed one after the other, since one has answered.
    private var failedEndpoints = 0
    private var timer: Timer?
    private var turnEnd: TurnEnd?
    /// The loop time at which the timer fires.
    private var alarm: UInt64?

    package convenience init(to endpoint: Endpoint, options: ClientOptions, on loop: EventLoop) {
        self.init(to: [endpoint], options: options, on: loop)
    }

    /// - Precondition: there is at least one endpoint.
    package init(to endpoints: [Endpoint], options: ClientOptions, on loop: EventLoop) {
        precondition(!endpoints.isEmpty)
        self.endpoints = endpoints
        self.options = options
        self.loop = loop
        backoff = Backoff(
            shortest: options.shortestPause.milliseconds,
            longest: options.longestPause.milliseconds)
    }

    /// Returns an id for `send`. Never 0, which the server uses for connection-level frames.
    package func newId() -> UInt64 { lastId.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Sends a request together with the others of the same turn of the loop. Calls `completion`
    /// once, on the loop's thread. If the caller is on that thread, `send` itself can call it; if
    /// the loop has stopped, `send` calls it on the caller's thread.
    package func send(
        _ request: ClientRequest, id: UInt64, completion: @escaping @Sendable (ClientResult) -> Void
    ) {
        if loop.isCurrent {
            admit(request, id: id, completion: completion)
        } else if !put(.send(request, id: id, completion: completion)) {
            completion(.failure(.closed))
        }
    }

    /// Ends an earlier request with `cancelled` if it is still pending.
    package func cancel(_ id: UInt64) { put(.cancel(id)) }

    /// Ends all requests with `closed`, including later ones.
    package func close() { put(.close) }

    /// Returns false if the loop has stopped.
    @discardableResult
    private func put(_ message: Message) -> Bool {
        inbox.withLock { inbox in
            // One job handles all messages that arrive before it runs.
            if inbox.isEmpty, !loop.post({ [self] in takeInbox() }) { return false }
            inbox.append(message)
            return true
        }
    }

    private func takeInbox() {
        let messages = inbox.withLock { inbox in
            defer { inbox = [] }
            return inbox
        }
        for message in messages {
            switch message {
            case .send(let request, let id, let completion):
                admit(request, id: id, completion: completion)
            case .cancel(let id): abandon(id)
            case .close: shutDown()
            }
        }
    }

    // MARK: Requests

    private func admit(
        _ request: ClientRequest, id: UInt64, completion: @escaping @Sendable (ClientResult) -> Void
    ) {
        if case .closed = state { return completion(.failure(.closed)) }
        guard waiting.count < options.waitingLimit else {
            return completion(.failure(.tooManyWaiting))
        }
        do throws(LoopError) { try setUp() } catch {
            return completion(.failure(.connectFailed(error)))
        }
        let timeout = min(request.timeout ?? options.timeout, ClientOptions.longestTimeout)
        let call = PendingCall(
            id: id, request: request, start: loop.now,
            deadline: loop.now + timeout.milliseconds, canRetry: options.retriesOnce,
            completion: completion)
        if case .connected(let connection) = state, waiting.isEmpty, connection.canSend {
            connection.send(call)
        } else {
            waiting.append(call, at: loop.now)
            pump()
        }
        wake(at: call.deadline)
    }

    private func setUp() throws(LoopError) {
        if timer == nil { timer = try Timer(on: loop) }
        if turnEnd == nil {
            turnEnd = try TurnEnd(on: loop) { [self] in flush() }
        }
    }

    /// Moves waiting requests to the connection up to its limits, and connects if necessary.
    private func pump() {
        switch state {
        case .connected(let connection):
            while connection.canSend, let call = waiting.popFirst() {
                if hasWaitedTooLong(call) {
                    call.end(.failure(.tooManyWaiting))
                } else {
                    connection.send(call)
                }
            }
            if let longestWait, !waiting.isEmpty {
                wake(at: loop.now + max(longestWait / ClientLimits.looksPerWait, 1))
            }
        case .disconnected:
            guard !waiting.isEmpty else { return }
            if loop.now >= backoff.nextAttempt { connect() } else { wake(at: backoff.nextAttempt) }
        case .connecting, .closed: break
        }
    }

    /// In milliseconds.
    private var longestWait: UInt64? { options.longestWait?.milliseconds }

    /// Whether a call has waited too long for its turn on the open connection. Time without a
    /// connection does not count.
    private func hasWaitedTooLong(_ call: PendingCall) -> Bool {
        guard let longestWait, !call.request.mayWait else { return false }
        return loop.now > max(call.queued, openedAt) + longestWait
    }

    private func abandon(_ id: UInt64) {
        let call =
            waiting.remove(id) ?? connections.lazy.compactMap { $0.inFlight[id] }.first
        call?.end(.failure(.cancelled))
        closeDrained()
    }

    private func flush() {
        if case .connected(let connection) = state { connection.flush() }
        for connection in draining { connection.flush() }
    }

    private func shutDown() {
        let connections = connections
        state = .closed
        draining = []
        for connection in connections { connection.end(.lost) }
        for call in waiting.removeAll() { call.end(.failure(.closed)) }
        timer?.close()
        turnEnd?.close()
        (timer, turnEnd) = (nil, nil)
    }

    // MARK: Connections

    private var connections: [ClientConnection] {
        switch state {
        case .connecting(let connection), .connected(let connection): draining + [connection]
        case .disconnected, .closed: draining
        }
    }

    private func connect() {
        let deadline = loop.now + options.connectTimeout.milliseconds
        do throws(LoopError) {
            let connection = try ClientConnection(
                to: endpoints[position], on: loop, tls: options.tls, limits: options.requestLimits,
                window: InFlightWindow(
                    limit: options.inFlightLimit, adapts: options.longestWait != nil),
                readsEvidence: options.readsEvidence, connectDeadline: deadline
            ) { [self] connection, event in didHappen(event, on: connection) }
            state = .connecting(connection)
            wake(at: deadline)
        } catch {
            didFailToConnect(error)
        }
    }

    private func didHappen(_ event: ClientConnection.Event, on connection: ClientConnection) {
        switch event {
        case .opened:
            state = .connected(connection)
            openedAt = loop.now
            pump()
            // Unlike reads, `opened` and `wrote` can come before the loop waits for events.
            flush()
        case .wrote:
            pump()
            flush()
        case .received:
            if connection.hasAnswered {
                backoff.reset()
                failedEndpoints = 0
            }
            pump()
            closeDrained()
        case .drained:
            state = .disconnected
            // A server that drains before its first answer counts as a failed attempt.
            leaveEndpoint(hasFailed: !connection.hasAnswered)
            draining.append(connection)
            pump()
        case .notTaken(let call):
            call.canRetry = false
            waiting.append(call, at: loop.now)
            pump()
        case .ended(let end): didEnd(connection, end)
        }
    }

    private func closeDrained() {
        for connection in draining
        where connection.inFlight.values.allSatisfy({ $0.isAbandoned }) {
            connection.end(.lost)
        }
    }

    private func didEnd(_ connection: ClientConnection, _ end: ClientConnection.End) {
        let calls = connection.inFlight.values.sorted { $0.id < $1.id }
        if case .closed = state {
            for call in calls { call.end(.failure(.closed)) }
            return
        }
        let wasDraining = draining.contains { $0 === connection }
        if wasDraining {
            draining.removeAll { $0 === connection }
        } else {
            state = .disconnected
            leaveEndpoint(hasFailed: !connection.hasAnswered)
        }
        switch end {
        case .connectFailed(let error):
            // A server rejects a client certificate after requests were sent to it.
            if hasEndpointLeft {
                waiting.prepend(calls.filter { !$0.isAbandoned }, at: loop.now)
                return pump()
            }
            for call in calls { call.end(.failure(.connectFailed(error))) }
            return failWaiting(.connectFailed(error))
        case .lost: retry(calls)
        case .loopStopped:
            for call in calls { call.end(.failure(.closed)) }
            return shutDown()
        case .refused(let error, let pause):
            backoff.wait(until: loop.now + min(pause, options.longestPause.milliseconds))
            for call in calls { call.end(.failure(error)) }
        case .violation(let what):
            for call in calls { call.end(.failure(.protocolViolation(what))) }
        }
        pump()
    }

    private func didFailToConnect(_ error: LoopError) {
        leaveEndpoint(hasFailed: true)
        if hasEndpointLeft { pump() } else { failWaiting(.connectFailed(error)) }
    }

    /// Continues with the next endpoint, after a pause once all have failed.
    private func leaveEndpoint(hasFailed: Bool) {
        position = (position + 1) % endpoints.count
        guard hasFailed else { return }
        failedEndpoints += 1
        if !hasEndpointLeft { backoff.fail(at: loop.now) }
    }

    /// Whether an endpoint has not failed since the last pause.
    private var hasEndpointLeft: Bool { failedEndpoints % endpoints.count != 0 }

    private func failWaiting(_ error: ClientError) {
        guard !options.waitsForServer else { return pump() }
        for call in waiting.removeAll() { call.end(.failure(error)) }
        pump()
    }

    /// Retries or fails the requests that were in flight on a lost connection.
    private func retry(_ calls: [PendingCall]) {
        var retried: [PendingCall] = []
        for call in calls where !call.isAbandoned {
            if call.canRetry {
                call.canRetry = false
                retried.append(call)
            } else {
                call.end(.failure(.connectionLost))
            }
        }
        waiting.prepend(retried, at: loop.now)
    }

    // MARK: Time

    /// Schedules `sweep` at the given time or earlier.
    private func wake(at time: UInt64) {
        if let alarm, alarm <= time { return }
        guard let timer, !timer.isClosing else { return }
        alarm = time
        let now = loop.now
        timer.start(afterMilliseconds: time > now ? time - now : 0) { [self] in
            alarm = nil
            sweep()
            // Timers fire before the loop waits for events, so the output can't wait for the
            // turn's end.
            flush()
        }
    }

    /// Ends requests and connections past their deadlines, and schedules the next sweep.
    private func sweep() {
        let now = loop.now
        for call in Array(waiting.calls) where call.deadline <= now {
            _ = waiting.remove(call.id)
            call.end(.failure(.deadlineExceeded))
        }
        if case .connected = state {
            for call in Array(waiting.calls) where hasWaitedTooLong(call) {
                _ = waiting.remove(call.id)
                call.end(.failure(.tooManyWaiting))
            }
        }
        for connection in connections {
            for call in connection.inFlight.values where call.lastMoment <= now {
                call.end(.failure(.deadlineExceeded))
            }
            if connection.inFlight.values.contains(where: { $0.overdueMoment <= now }) {
                connection.end(.lost)
            }
        }
        if case .connecting(let connection) = state, connection.connectDeadline <= now {
            connection.end(.connectFailed(.timedOut))
        }
        closeDrained()
        pump()
        if let next = nextMoment { wake(at: max(next, now + sweepPeriod)) }
    }

    /// The shortest time between two sweeps. A sweep looks at all calls: a client that sends
    /// without a limit would do nothing else.
    private var sweepPeriod: UInt64 {
        let calls = connections.reduce(waiting.count) { $0 + $1.inFlight.count }
        return max(ClientLimits.sweepPeriod, UInt64(calls / ClientLimits.callsPerMillisecond))
    }

    private var nextMoment: UInt64? {
        var next = waiting.calls.map(\.deadline).min()
        for connection in connections {
            let moments = connection.inFlight.values.lazy.map {
                $0.isAbandoned ? $0.overdueMoment : $0.lastMoment
            }
            next = [next, moments.min()].compactMap(\.self).min()
        }
        if case .connecting(let connection) = state {
            next = min(next ?? .max, connection.connectDeadline)
        }
        return next
    }
}
