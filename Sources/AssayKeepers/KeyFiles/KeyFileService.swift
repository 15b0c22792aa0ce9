import Assay
import AssayIO
public import AssayModels
public import AssayTelemetry

/// Reads the files with keys of a server's policies again when they change, on a thread of its own.
public final class KeyFileService: Sendable {
    private let loop: EventLoop
    private let keeper: LoopBound<KeyFileKeeper>

    /// Starts the thread. `apply` gives it files. The log receives what was read, and what can't
    /// be; the clock, by default the system's, is the time of its lines.
    public init(
        log sink: any LogSink = StandardErrorLog(), clock: (@Sendable () -> Timestamp)? = nil
    ) throws(ServerError) {
        let log = Log(sink: sink, clock: clock ?? Log.systemClock)
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-keys")
            try loop.start()
            keeper = try loop.call { () throws(LoopError) in
                let keeper = KeyFileKeeper { log.write($0) }
                let timer = try Timer(on: loop)
                timer.start(
                    afterMilliseconds: Self.lookMilliseconds,
                    everyMilliseconds: Self.lookMilliseconds
                ) { keeper.look() }
                return LoopBound(keeper, to: loop)
            }
            self.loop = loop
        } catch {
            throw .system(error)
        }
    }

    /// Time between two looks at the files.
    private static let lookMilliseconds = RevocationLimits.filesMilliseconds

    deinit { stop() }

    /// Ends the thread. The keys stay as they are.
    public func stop() {
        loop.stop()
        if !loop.isCurrent { loop.join() }
    }

    /// Takes other files, and reads all of them before it returns.
    public func apply(_ files: [KeyFile]) throws(ServerError) {
        let keeper = keeper
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in keeper.value.apply(files) }
        } catch {
            throw .system(error)
        }
    }
}

extension Log {
    /// The names of files are the operator's.
    fileprivate func write(_ event: KeyFileEvent) {
        switch event {
        case .read(let path): write(.info, "key_file_read", ["path": .text(path)])
        case .notUsed(let path, let reason):
            write(.warning, "key_file_not_used", ["path": .text(path), "reason": .text(reason)])
        }
    }
}
