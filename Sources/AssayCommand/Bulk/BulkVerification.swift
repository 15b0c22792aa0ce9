import ArgumentParser
import Assay
import AssayClient
import AssayCommandLine
import AssayIO
import AssayWire

/// `assay verify` of many items.
struct BulkVerification {
    let input: BulkInput
    let member: String?
    let question: EvidenceQuestion

    /// Verifies in this process, on all processors.
    func run(_ verifier: Verifier) async throws {
        let (question, member) = (question, member)
        try await run { _, _ in
            (LocalBulk(verifier: verifier, question: question, member: member), {})
        }
    }

    /// Has a server verify.
    func run(
        _ server: Endpoint, _ tls: TLSContext?, app: String, timeout: Duration
    ) async throws {
        // Fails at once where no server answers. Later, requests wait for its restart.
        let info = try await server.ask(tls, timeout: .seconds(5)) {
            client throws(ClientError) in try await client.info()
        }
        let inFlight = Int(info.limits.requestsInFlight)
        let options = ClientOptions(
            timeout: timeout, waitsForServer: true,
            inFlightLimit: max(1, min(RequestLimits.inFlight, inFlight)), longestWait: nil,
            tls: tls)
        let (question, member) = (question, member)
        try await run { jobs, results throws(LoopError) in
            let remote = try RemoteBulk(
                server, options, question: question, member: member, app: app, jobs: jobs
            ) { reason in results.finish(.failed("\(server): \(reason)")) }
            return (remote, { remote.stop() })
        }
    }

    private typealias MakeEngine = (
        BulkJobs, BulkResults
    ) throws(LoopError) -> (engine: any BulkEngine, stop: () -> Void)

    private func run(_ make: MakeEngine) async throws {
        let start = SystemClock.monotonicNanoseconds
        let source = try BulkSource(input)
        let member = member
        let parts: Parts
        do throws(LoopError) { parts = try Parts(make) } catch {
            throw Failure("can't start threads: \(error)")
        }
        let (jobs, results, engine, window) = (
            parts.jobs, parts.results, parts.engine, parts.window
        )
        parts.reading.submit {
            source.read(window, results) { batch in
                jobs.submit {
                    guard !results.hasEnded else { return }
                    engine.verify(batch) { answers in
                        let hinted = zip(batch.items, answers).map {
                            $0.hinted($1, member: member)
                        }
                        results.deliver(BulkRecords(batch, hinted), of: batch.number)
                    }
                }
            }
        }
        let ticker = BulkTicker(results, source, start)
        let end = await results.end()
        ticker.stop()
        parts.stop(end)
        let seconds = Double(SystemClock.monotonicNanoseconds - start) / 1e9
        try finish(end, results.tally, source, seconds)
    }

    /// What runs during a verification.
    private struct Parts {
        let window: BulkWindow
        let results: BulkResults
        let jobs: BulkJobs
        let engine: any BulkEngine
        /// Reading blocks, so it has a thread of its own.
        let reading: WorkerPool
        private let stopEngine: () -> Void

        init(_ make: MakeEngine) throws(LoopError) {
            window = try BulkWindow(
                itemLimit: BulkLimits.itemsInFlight, byteLimit: BulkLimits.bytesInFlight)
            jobs = try BulkJobs(threads: SystemClock.availableParallelism)
            results = BulkResults(window) { text throws(LoopError) in
                try SystemFile.writeStandardOutput(text)
            }
            (engine, stopEngine) = try make(jobs, results)
            reading = try WorkerPool(count: 1, name: "assay-read")
        }

        func stop(_ end: BulkEnd) {
            stopEngine()
            jobs.stop()
            // After an early end, the thread can still wait for input.
            if end == .complete { reading.stop() }
        }
    }

    private func finish(
        _ end: BulkEnd, _ tally: BulkTally, _ source: BulkSource, _ seconds: Double
    ) throws {
        if end == .outputClosed { throw ExitStatus.brokenPipe }
        let (emptyLines, failure) = source.outcome
        Output.note(tally.summary(emptyLines: emptyLines, seconds: seconds))
        if case .failed(let reason) = end { throw Failure(reason) }
        if let failure { throw Failure(failure) }
        // Nothing was verified, so success would mean nothing.
        guard tally.items > 0 else { throw Failure("\(source.name) has no item to verify") }
        if tally.hasTrouble { throw ExitStatus.trouble }
        guard tally.isAllValid else { throw ExitStatus.refused }
    }
}

/// The opened input of a bulk verification, and what reading it found.
final class BulkSource: Sendable {
    /// The size of the input, in bytes or files; nil if it has none.
    let total: Int?
    let countsFiles: Bool
    private let input: BulkInput
    /// The file of lines, for messages; empty for files.
    let name: String
    /// The file of lines; nil for files. Opened once: a named pipe can't be opened again.
    private let opened: Opened?
    private let state = Locked((emptyLines: 0, failure: String?.none))

    private final class Opened: Sendable {
        let file: InputFile

        init(_ path: String) throws(LoopError) { file = try InputFile(path) }
    }

    init(_ input: BulkInput) throws {
        self.input = input
        switch input {
        case .files(let paths):
            (total, countsFiles, name, opened) = (paths.count, true, "", nil)
        case .lines(let path):
            name = path == "-" ? "standard input" : path
            countsFiles = false
            do throws(LoopError) {
                let opened = try Opened(path)
                total = opened.file.size
                self.opened = opened
            } catch .other("EISDIR") {
                throw Failure("can't read \(name): it is a folder")
            } catch {
                throw Failure("can't read \(name): \(error)")
            }
        }
    }

    /// The number of empty lines, and why reading ended early.
    var outcome: (emptyLines: Int, failure: String?) { state.withLock { $0 } }

    /// Reads all items. Blocks while the window is full.
    func read(
        _ window: BulkWindow, _ results: BulkResults, _ verify: @escaping (BulkBatch) -> Void
    ) {
        var reader = BulkReader { batch in
            guard window.enter(items: batch.items.count, bytes: batch.bytes) else { return false }
            verify(batch)
            return true
        }
        switch input {
        case .files(let paths): reader.readFiles(paths)
        case .lines:
            do throws(LoopError) {
                if let opened { try reader.readLines(of: opened.file) }
            } catch {
                state.withLock { $0.failure = "can't read \(name): \(error)" }
            }
        }
        state.withLock { $0.emptyLines = reader.emptyLines }
        results.close(batches: reader.batches)
    }
}

/// Shows the progress on a terminal, unless the records go there.
private struct BulkTicker {
    private let task: Task<Void, Never>?

    init(_ results: BulkResults, _ source: BulkSource, _ start: UInt64) {
        guard StandardError.isTerminal, !SystemFile.isStandardOutputTerminal else {
            task = nil
            return
        }
        let (total, countsFiles) = (source.total, source.countsFiles)
        task = Task {
            while true {
                try? await Task.sleep(for: BulkLimits.progressPeriod)
                guard !Task.isCancelled else { return }
                let tally = results.tally
                let seconds = Double(SystemClock.monotonicNanoseconds - start) / 1e9
                let progress = BulkProgress(
                    total: total, done: countsFiles ? tally.items : tally.bytes,
                    items: tally.items, seconds: seconds)
                StandardError.write(Self.startOfLine + progress.text)
            }
        }
    }

    func stop() {
        guard let task else { return }
        task.cancel()
        StandardError.write(Self.startOfLine)
    }

    /// Returns to the start of the line and clears it (ECMA-48, EL).
    private static let startOfLine = "\r\u{1b}[K"
}
