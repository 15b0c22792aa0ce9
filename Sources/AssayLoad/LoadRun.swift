package import AssayClient
package import AssayIO
import Synchronization

/// One run of a settings against a server.
package struct LoadRun: Sendable {
    private let settings: LoadSettings
    private let groups: [LoadGroup]
    private let progress: @Sendable (Moment) -> Void

    /// - Parameter progress: Called about once a second.
    package init(
        _ settings: LoadSettings, _ groups: [LoadGroup],
        progress: @escaping @Sendable (Moment) -> Void = { _ in }
    ) {
        self.settings = settings
        self.groups = groups
        self.progress = progress
    }

    /// The polling interval of a run.
    private static let tick = Duration.milliseconds(20)
    /// How long a run waits for answers beyond the request timeout after it stopped sending.
    private static let grace = Duration.seconds(2)

    /// Runs to the end of the settings, or until `interruption` is set, and returns the results so
    /// far.
    package func run(
        _ interruption: borrowing Interruption
    ) async throws(LoadError) -> LoadResult {
        let loops = try makeLoops()
        let result: LoadResult
        do throws(LoadError) {
            result = try await measure(loops, interruption)
        } catch {
            Self.end(loops)
            throw error
        }
        Self.end(loops)
        return result
    }

    private typealias Running = (loop: EventLoop, load: LoadLoop)

    private func makeLoops() throws(LoadError) -> [EventLoop] {
        do throws(LoopError) {
            var loops: [EventLoop] = []
            for index in 0..<settings.threads {
                let loop = try EventLoop(name: "assay-load-\(index)")
                try loop.start()
                loops.append(loop)
            }
            return loops
        } catch {
            throw .system(error)
        }
    }

    private static func end(_ loops: [EventLoop]) {
        for loop in loops { loop.stop() }
        for loop in loops { loop.join() }
    }

    private func measure(
        _ loops: [EventLoop], _ interruption: borrowing Interruption
    ) async throws(LoadError) -> LoadResult {
        let running = try make(loops)
        try await connect(running)
        // A common start time in the near future, so that no thread starts late.
        let start = SystemClock.monotonicNanoseconds + Self.settlingNanoseconds
        for (loop, load) in running { loop.post { load.begin(at: start) } }

        let warm = start + settings.warmUp.nanoseconds
        let end = warm + settings.duration.nanoseconds
        let patience = (settings.timeout + Self.grace).nanoseconds
        var clock = ProcessorUse(server: settings.serverProcess)
        var moments: [Moment] = []
        var (last, isWarm, stopped) = (start, false, UInt64?.none)
        while true {
            try? await Task.sleep(for: Self.tick)
            let now = SystemClock.monotonicNanoseconds
            if !isWarm, now >= warm {
                isWarm = true
                clock = ProcessorUse(server: settings.serverProcess)
            }
            if stopped == nil, now >= end || interruption.isSet {
                stopped = now
                for (loop, load) in running { loop.post { load.stop() } }
            }
            if now >= last + 1_000_000_000 {
                moments.append(glimpse(running, start, from: last, to: now, isWarmUp: last < warm))
                progress(moments[moments.count - 1])
                last = now
            }
            if try isFinished(running) { break }
            if let stopped, now >= stopped + patience || interruption.isUrgent { break }
        }
        let used = clock.elapsed(server: settings.serverProcess)
        // The last interval is shorter than a second. Below half a second it gives no useful
        // rate, unless it is the only interval.
        let now = SystemClock.monotonicNanoseconds
        if moments.isEmpty || now >= last + 500_000_000 {
            moments.append(glimpse(running, start, from: last, to: now, isWarmUp: last < warm))
        }
        return try result(running, moments, used, wasInterrupted: interruption.isSet)
    }

    private func isFinished(_ running: [Running]) throws(LoadError) -> Bool {
        for (loop, load) in running {
            guard try ask(loop, { load.isFinished }) else { return false }
        }
        return true
    }

    /// The delay between opening the connections and the first request.
    private static let settlingNanoseconds: UInt64 = 100_000_000

    private func make(_ loops: [EventLoop]) throws(LoadError) -> [Running] {
        var running: [Running] = []
        let prepared = PreparedRequests(
            settings.loadProtocol == .frames ? [] : groups, settings)
        for (index, loop) in loops.enumerated() {
            let (settings, groups) = (settings, groups)
            let load = try ask(loop) { () throws(LoopError) in
                try LoadLoop(settings, groups, prepared, index: index, loop: loop)
            }
            running.append((loop, load))
        }
        return running
    }

    private func connect(_ running: [Running]) async throws(LoadError) {
        let waiting = Locked((left: settings.connections, error: ClientError?.none))
        let attempts = Attempts(waiting)
        for (loop, load) in running {
            loop.post { load.connect { attempts.note($0) } }
        }
        while attempts.left > 0 { try? await Task.sleep(for: .milliseconds(1)) }
        if let error = attempts.error { throw .notReached(error) }
    }

    private func ask<Answer: Sendable>(
        _ loop: EventLoop, _ job: @escaping @Sendable () throws(LoopError) -> Answer
    ) throws(LoadError) -> Answer {
        do throws(LoopError) { return try loop.call(job) } catch { throw .system(error) }
    }

    private func glimpse(
        _ running: [Running], _ start: UInt64, from: UInt64, to now: UInt64, isWarmUp: Bool
    ) -> Moment {
        var glimpse = LoadLoop.Glimpse()
        for (loop, load) in running {
            guard let part = try? ask(loop, { load.takeGlimpse() }) else { continue }
            glimpse.add(part)
        }
        let latencies = glimpse.all.latencies
        return Moment(
            time: Double(now - start) / 1e9, seconds: Double(now - from) / 1e9,
            counts: glimpse.all.counts, p50: latencies.milliseconds(at: 50),
            p99: latencies.milliseconds(at: 99), max: latencies.milliseconds(at: 100),
            latenessP99: glimpse.lateness.milliseconds(at: 99), inFlight: glimpse.inFlight,
            isWarmUp: isWarmUp)
    }

    private func result(
        _ running: [Running], _ moments: [Moment], _ used: ProcessorUse.Elapsed,
        wasInterrupted: Bool
    ) throws(LoadError) -> LoadResult {
        var all = Tally(groups: groups.count)
        var (from, until) = (UInt64.max, UInt64.min)
        for (loop, load) in running {
            let measured = try ask(loop) {
                load.close()
                return load.measured
            }
            all.add(measured.tally)
            from = min(from, measured.from)
            until = max(until, measured.until)
        }
        // An overloaded server answers after the end of the run. That time counts, too.
        let seconds = Double(max(until, all.lastAnswer) - from) / 1e9
        return LoadResult(
            settings: settings, names: groups.map(\.name), tally: all,
            sendingSeconds: Double(until - from) / 1e9, seconds: seconds,
            moments: moments, processor: used, wasInterrupted: wasInterrupted)
    }
}

/// Ends a run early. Any thread can set it, for example when a signal arrives.
package struct Interruption: ~Copyable, Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// The first call stops sending and waits for outstanding answers. The second call ends the
    /// run at once.
    package func set() { count.add(1, ordering: .relaxed) }

    package var isSet: Bool { count.load(ordering: .relaxed) > 0 }
    var isUrgent: Bool { count.load(ordering: .relaxed) > 1 }
}

/// The reason why a run failed to start or to finish.
package enum LoadError: Error, Sendable {
    case notReached(ClientError)
    case system(LoopError)
}

/// Counts the connections that are still opening, and keeps the first error.
private final class Attempts: Sendable {
    private let state: Locked<(left: Int, error: ClientError?)>

    init(_ state: consuming Locked<(left: Int, error: ClientError?)>) { self.state = state }

    func note(_ error: ClientError?) {
        state.withLock { state in
            state.left -= 1
            state.error = state.error ?? error
        }
    }

    var left: Int { state.withLock { $0.left } }
    var error: ClientError? { state.withLock { $0.error } }
}
