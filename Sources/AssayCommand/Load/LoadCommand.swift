import ArgumentParser
import AssayClient
import AssayLoad
import AssayIO
import AssayModels

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Send load to a server, and measure its answers.",
        discussion: """
            Mints evidence, sends it, compares each verdict with the expected one, and
            prints latencies. Wrong verdicts, refusals because of a limit, and errors are
            counted separately; they are not throughput. Ctrl-C ends a run early and
            prints the results so far.

            TWO COMMANDS
              The server must trust the authority that signs the evidence:
                assay mint ca ./ca
                assay serve --root ./ca/root.pem --root ./ca/receipt-root.pem
                assay load tcp://127.0.0.1:7443 --ca ./ca --rate 5000 --report out.html

            OPEN AND CLOSED LOOPS
              By default (an open loop) a clock decides when requests are sent: --rate per
              second, at constant gaps or, with --arrivals poisson, at those of independent
              clients. Latency counts from the time when the request was due, so it
              includes the wait for a slow server. If the generator itself is late, the
              results measure the generator: it reports this and exits with 1.
              With --closed each answer triggers the next request, with --depth requests
              in flight on each connection. This measures the server's maximum throughput;
              the latencies are better than independent clients see. --sweep searches for
              the highest rate with 99 of 100 answers within --p99.

            EXAMPLES
              80 % transactions, 20 % notifications, 5 % of all forged:
                assay load unix:/run/assay.sock --ca ./ca --rate 2000 \\
                  --mix transaction=80,notification=20 --forged 5
              Transactions with a few app receipts of two sizes (the server needs --root
              ./ca/receipt-root.pem):
                assay load tcp://127.0.0.1:7443 --ca ./ca --rate 500 \\
                  --mix transaction=97,app-receipt:64KB=2,app-receipt:1MB=1
              The maximum on 4 connections with 64 requests in flight on each:
                assay load tcp://127.0.0.1:7443 --ca ./ca --closed -c 4 --depth 64
              The highest rate with p99 within 5 ms:
                assay load tcp://127.0.0.1:7443 --ca ./ca --sweep --p99 5 --duration 5
              Your own evidence; each file must be VALID:
                assay load tcp://127.0.0.1:7443 --file transaction=token.jws \\
                  --environment Sandbox --rate 500

            EXIT STATUS
              0  every request got the expected verdict, and the generator kept its pace
              1  otherwise; the reasons are printed
              2  wrong usage, or the server could not be reached
            """)

    @OptionGroup(title: "Pace") var pace: LoadPaceOptions
    @OptionGroup(title: "Evidence") var evidence: LoadEvidenceOptions
    @OptionGroup(title: "Output") var output: LoadOutputOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions

    @Option(
        help: ArgumentHelp(
            "The server's process on this machine, to report its processor time.",
            valueName: "pid"))
    var serverPid: Int32?

    @Option(help: ArgumentHelp("The server's app entry. (default: its default entry)"))
    var app = ""

    @Argument(
        help: ArgumentHelp("tcp://HOST:PORT, tls://HOST:PORT or unix:PATH.", valueName: "address"),
        transform: serverArgument)
    var server: Endpoint

    func run() async throws {
        try output.check()
        let groups = try evidence.groups(chains: pace.chainsWanted)
        let interruption = LoadInterruption()
        let watching = try interruption.watch()
        defer { watching.stop() }
        var settings = pace.settings(to: server, app: app, serverProcess: serverPid)
        settings.tls = try tls.context(for: server)
        if pace.sweep {
            try await sweep(settings, groups, interruption)
        } else {
            try await once(settings, groups, interruption)
        }
    }

    private func once(
        _ settings: LoadSettings, _ groups: [LoadGroup], _ interruption: LoadInterruption
    ) async throws {
        let about = output.needsRecord ? await askAbout() : nil
        let result = try await measure(settings, groups, interruption)
        try report(result, result.summary, of: about)
        if !result.isClean || result.lateReason != nil { throw ExitStatus.refused }
    }

    private func sweep(
        _ settings: LoadSettings, _ groups: [LoadGroup], _ interruption: LoadInterruption
    ) async throws {
        let about = output.needsRecord ? await askAbout() : nil
        let search = RateSweep(bound: pace.p99, firstRate: pace.rate ?? 1000)
        let steps: [RateSweep.Step]
        do throws(LoadError) {
            steps = try await search.search { rate throws(LoadError) in
                var step = settings
                step.pace = .open(rate: rate, pace.arrivals)
                return try await LoadRun(step, groups).run(interruption.flag)
            } note: { step in
                let p99 = step.result.latencies.milliseconds(at: 99).short
                Output.note(
                    "\(step.rate.rounded0)/s: "
                        + (step.failure.map { "too high: " + TerminalText.escaped($0) }
                            ?? "p99 \(p99) ms"))
            }
        } catch {
            throw failure(error)
        }
        guard let best = RateSweep.best(of: steps) else {
            try Output.line("no rate has p99 within \(pace.p99.short) ms")
            throw ExitStatus.refused
        }
        let least = steps.filter { $0.failure != nil }.min { $0.rate < $1.rate }
        var text = "\(best.rate.rounded0) requests per second with p99 within \(pace.p99.short) ms"
        if let least, least.wasLate {
            text += "; above it the generator was late, so the server can possibly do more"
        } else if least == nil || least?.result.wasInterrupted == true {
            text += "; the search was not completed"
        }
        try report(best.result, text + "\n" + best.result.summary, of: about, steps: steps)
    }

    /// Writes the files and the summary. The summary goes to standard error when the JSON goes
    /// to standard output.
    private func report(
        _ result: LoadResult, _ summary: String, of about: RunRecord.Server?,
        steps: [RateSweep.Step] = []
    ) throws {
        // Prints first: a full disk can fail the files but not this output.
        if output.json == "-" {
            if !output.quiet { Output.note(summary) }
        } else {
            try Output.line(summary)
        }
        try output.write(result, of: about, steps: steps)
    }

    /// The server's version and engine, for the report; nil if it does not answer.
    private func askAbout() async -> RunRecord.Server? {
        let info = try? await server.ask(
            tls.context(for: server), timeout: .seconds(2)
        ) { client throws(ClientError) in try await client.info() }
        return info.map { RunRecord.Server(version: $0.version, engine: $0.engine) }
    }

    private func measure(
        _ settings: LoadSettings, _ groups: [LoadGroup], _ interruption: LoadInterruption
    ) async throws -> LoadResult {
        let quiet = output.quiet
        let run = LoadRun(settings, groups) { moment in
            if !quiet { Output.note(moment.line) }
        }
        do throws(LoadError) {
            return try await run.run(interruption.flag)
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: LoadError) -> Failure {
        switch error {
        case .notReached(let reason): Failure("\(server): \(reason)")
        case .system(let reason): Failure("the generator failed: \(reason)")
        }
    }
}

/// Ends a run early on SIGINT and SIGTERM. The results so far are printed.
final class LoadInterruption: Sendable {
    let flag = Interruption()

    /// Starts to watch for the signals on a thread of its own.
    func watch() throws -> Watching {
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-signals")
            try loop.start()
            for signal in [ProcessSignal.interrupt, .terminate] {
                try loop.call { () throws(LoopError) in
                    _ = try SignalWatcher(signal, on: loop) { self.flag.set() }
                }
            }
            return Watching(loop: loop)
        } catch {
            throw Failure("can't watch for signals: \(error)")
        }
    }

    struct Watching {
        let loop: EventLoop

        func stop() {
            loop.stop()
            loop.join()
        }
    }
}
