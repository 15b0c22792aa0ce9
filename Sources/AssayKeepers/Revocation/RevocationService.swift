public import Assay
import AssayIO
public import AssayModels
public import AssayTelemetry

/// A server's revocation statuses, and the thread that keeps them: it reads files again when they
/// change, and asks hosts. No verification waits for it.
public final class RevocationService: Sendable {
    /// The statuses, for the verifiers of the server.
    public let statuses: RevocationStatuses
    private let loop: EventLoop
    private let inbox: Inbox
    private let content: Locked<RevocationReport>

    /// Reaches the keeper, once it exists.
    private final class Inbox: Sendable {
        private let loop: EventLoop
        private let clock: @Sendable () -> Timestamp
        let keeper = Locked<LoopBound<RevocationKeeper>?>(nil)

        init(_ loop: EventLoop, _ clock: @escaping @Sendable () -> Timestamp) {
            self.loop = loop
            self.clock = clock
        }

        func post(_ job: @escaping @Sendable (RevocationKeeper) -> Void) {
            loop.post { [self] in
                guard let keeper = keeper.withLock({ $0 })?.value else { return }
                advance(keeper)
                job(keeper)
            }
        }

        func advance(_ keeper: RevocationKeeper) {
            keeper.advance(to: loop.nanoseconds / 1_000_000, wall: clock())
        }
    }

    /// Starts the thread. `apply` gives it settings. The log receives what can't be read or
    /// reached; the clock, by default the system's, is the time that statuses are compared with.
    public init(
        log sink: any LogSink = StandardErrorLog(), clock: (@Sendable () -> Timestamp)? = nil
    ) throws(ServerError) {
        let clock = clock ?? Log.systemClock
        let content = Locked(RevocationReport())
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-revocation")
            try loop.start()
            let inbox = Inbox(loop, clock)
            let statuses = RevocationStatuses { cell in inbox.post { $0.found(cell) } }
            let log = Log(sink: sink, clock: clock)
            try loop.call { () throws(LoopError) in
                let keeper = RevocationKeeper(
                    statuses, random: { Double.random(in: 0..<1) },
                    post: { inbox.post($0) },
                    didChange: { report in content.withLock { $0 = report } },
                    log: { log.write($0) })
                inbox.keeper.withLock { $0 = LoopBound(keeper, to: loop) }
                let timer = try Timer(on: loop)
                timer.start(
                    afterMilliseconds: Self.tickMilliseconds,
                    everyMilliseconds: Self.tickMilliseconds
                ) {
                    inbox.advance(keeper)
                    keeper.tick()
                }
            }
            (self.loop, self.inbox, self.statuses) = (loop, inbox, statuses)
        } catch {
            throw .system(error)
        }
        self.content = content
    }

    private static let tickMilliseconds: UInt64 = 500

    deinit { stop() }

    /// Ends the thread. The statuses stay as they are.
    public func stop() {
        loop.post { [inbox] in inbox.keeper.withLock { $0 }?.value.close() }
        loop.stop()
        if !loop.isCurrent { loop.join() }
        inbox.keeper.withLock { $0 = nil }
    }

    /// Applies settings, and reads all files before it returns. The transport asks the hosts of the
    /// settings; without one, none is asked.
    public func apply(
        _ settings: RevocationSettings, askingBy transport: (any RevocationTransport)? = nil
    ) throws(ServerError) {
        let inbox = inbox
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in
                guard let keeper = inbox.keeper.withLock({ $0 })?.value else { return }
                inbox.advance(keeper)
                keeper.apply(settings, askingBy: transport)
            }
        } catch {
            throw .system(error)
        }
    }

    /// What is known now.
    package var report: RevocationReport { content.withLock { $0 } }
}

extension Log {
    /// The names of files and hosts are the operator's and the certificates'.
    fileprivate func write(_ event: RevocationEvent) {
        switch event {
        case .fileNotUsed(let path, let reason):
            write(
                .warning, "revocation_file_not_used",
                ["path": .text(path), "reason": .text(reason)])
        case .stateNotKept(let reason):
            write(.error, "revocation_state_not_kept", ["reason": .text(reason)])
        case .requestFailed(let id, let reason):
            write(
                .warning, "revocation_request_failed",
                ["certificate": .text(id), "reason": .text(reason)])
        case .revoked(let id):
            write(.warning, "certificate_revoked", ["certificate": .text(id)])
        }
    }
}
