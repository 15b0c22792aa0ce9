import ArgumentParser
import AssayClient
import AssayCommandLine
import AssayLoad
import AssayIO
import AssayModels

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: DevelopmentCommand.load.rawValue,
        abstract: DevelopmentCommand.load.abstract,
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

            PROTOCOLS
              At tcp://, tls:// and unix: the generator speaks frames; at http://, https:// and
              unix-http: one of the others (--protocol), by default http:
                http, http-raw     /v1/verify over HTTP/1.1: JSON, or the evidence itself
                h2, h2-raw         the same over HTTP/2
                grpc, grpc-stream  a call for each request; one call for each connection
                connect            Connect with protobuf over HTTP/1.1; connect-h2: HTTP/2
              Several run one after the other with the same evidence, and the report compares
              these. Over HTTP/1.1 requests are pipelined if --depth is above 1. A server admits
              about 100 calls at a time on a connection of HTTP/2; further ones wait here, and
              their wait is part of the latency.

            EXAMPLES
              gRPC, HTTP and frames side by side:
                assay load tcp://127.0.0.1:7443 http://127.0.0.1:7445 --ca ./ca \\
                  --protocol frames,http,grpc --rate 1000 --report out.html
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

    @OptionGroup(title: "Target") var target: LoadTargetOptions

    func validate() throws {
        let targets = try target.targets()
        if targets.count > 1, output.hgrm != nil {
            throw ValidationError("--hgrm has the latencies of one protocol: name one")
        }
        for (_, name) in targets {
            if pace.mayWait, !name.hasMayWait {
                throw ValidationError("\(name.rawValue) has no --may-wait")
            }
            if evidence.mix.shares.contains(where: { $0.items != nil }), !name.hasResolve {
                throw ValidationError(
                    "\(name.rawValue) has no resolve; frames, grpc, connect and connect-h2 do")
            }
        }
    }

    func run() async throws {
        try output.check()
        let targets = try target.targets()
        if !tls.isEmpty, !targets.contains(where: { $0.server.isTLS }) {
            throw Failure("--tls options need a tls:// or https:// address")
        }
        let groups = try evidence.groups(chains: pace.chainsWanted)
        let interruption = LoadInterruption()
        let watching = try interruption.watch()
        defer { watching.stop() }
        let about = output.needsRecord ? await askAbout(targets.map(\.server)) : nil
        var runs: [ProtocolRun] = []
        var isGood = true
        for (server, name) in targets where !interruption.flag.isSet {
            var settings = pace.settings(to: server, app: app, serverProcess: serverPid)
            settings.loadProtocol = name
            if server.isTLS {
                settings.tls = try tls.context(for: server)
                if let offer = name.tlsProtocol { settings.tls?.offer(offer) }
            }
            if targets.count > 1 { try line("\(name.rawValue) at \(server)") }
            if pace.sweep {
                guard let run = try await sweep(settings, groups, interruption) else {
                    isGood = false
                    continue
                }
                runs.append(run)
            } else {
                let result = try await measure(settings, groups, interruption)
                try line(result.summary)
                runs.append(ProtocolRun(result))
                if !result.isClean || result.lateReason != nil { isGood = false }
            }
        }
        if runs.count > 1 { try line(ProtocolComparison(runs).text) }
        if !runs.isEmpty { try output.write(runs, of: about) }
        if !isGood { throw ExitStatus.refused }
    }

    /// Searches the highest rate. Returns nil if there is none.
    private func sweep(
        _ settings: LoadSettings, _ groups: [LoadGroup], _ interruption: LoadInterruption
    ) async throws -> ProtocolRun? {
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
            throw failure(error, settings)
        }
        guard let best = RateSweep.best(of: steps) else {
            try Output.line("no rate has p99 within \(pace.p99.short) ms")
            return nil
        }
        let least = steps.filter { $0.failure != nil }.min { $0.rate < $1.rate }
        var text = "\(best.rate.rounded0) requests per second with p99 within \(pace.p99.short) ms"
        if let least, least.wasLate {
            text += "; above it the generator was late, so the server can possibly do more"
        } else if least == nil || least?.result.wasInterrupted == true {
            text += "; the search was not completed"
        }
        try line(text + "\n" + best.result.summary)
        return ProtocolRun(best.result, steps: steps)
    }

    /// Prints results: to standard error when the JSON goes to standard output. Before the files,
    /// because a full disk can fail these but not this output.
    private func line(_ text: String) throws {
        if output.json != "-" {
            try Output.line(text)
        } else if !output.quiet {
            Output.note(text)
        }
    }

    /// The version and engine of the first server that speaks frames, for the report; nil if none
    /// answers.
    private func askAbout(_ servers: [Endpoint]) async -> RunRecord.Server? {
        guard let server = servers.first(where: { !$0.isHTTP }) else { return nil }
        let info = try? await server.ask(
            server.isTLS ? tls.context(for: server) : nil, timeout: .seconds(2)
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
            throw failure(error, settings)
        }
    }

    private func failure(_ error: LoadError, _ settings: LoadSettings) -> Failure {
        switch error {
        case .notReached(let reason): Failure("\(settings.endpoint): \(reason)")
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
