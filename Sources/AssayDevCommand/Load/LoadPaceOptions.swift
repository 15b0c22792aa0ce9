import ArgumentParser
import AssayCommandLine
import AssayLoad
import AssayIO

/// The rate, the duration and the connections of a load run.
struct LoadPaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Requests per second. (default: 1000)", valueName: "number"))
    var rate: Double?

    @Option(
        help: ArgumentHelp(
            "The gaps between requests: constant or poisson. (default: constant)",
            valueName: "arrivals"),
        completion: .choices(Arrivals.self),
        transform: choiceArgument)
    var arrivals: Arrivals = .constant

    @Flag(help: "Send the next request when an answer arrives, instead of by the clock.")
    var closed = false

    @Flag(help: "Search for the highest rate with p99 within --p99; start at --rate.")
    var sweep = false

    @Option(
        name: .customLong("p99"),
        help: ArgumentHelp(
            "The bound of --sweep in milliseconds. (default: 10)", valueName: "ms"))
    private var givenP99: Double?

    var p99: Double { givenP99 ?? 10 }

    @Option(
        name: [.long, .customShort("c")],
        help: ArgumentHelp("Number of connections.", valueName: "n"))
    var connections = 1

    @Option(
        help: ArgumentHelp(
            "Requests in flight on one connection. "
                + "(default: 1 with --closed, otherwise no limit)",
            valueName: "n"))
    var depth: Int?

    @Option(
        help: ArgumentHelp(
            "The run fails if one request in a hundred is sent more than this late: the "
                + "generator was too slow, or got no processor time.", valueName: "ms"))
    var lateLimit = 1.0

    @Flag(help: "Send requests that wait instead of being refused, like bulk work.")
    var mayWait = false

    @Option(
        help: ArgumentHelp(
            "Refuse requests here that wait longer than this to be sent, because the server does "
                + "not read them. (default: no limit)", valueName: "ms"))
    var longestWait: Int?

    @Option(help: ArgumentHelp("Number of threads of the generator.", valueName: "n"))
    var threads = 1

    @Option(help: ArgumentHelp("Measured time, in seconds.", valueName: "s"))
    var duration = 10.0

    @Option(help: ArgumentHelp("Time before the measurement, in seconds.", valueName: "s"))
    var warmUp = 2.0

    @Option(help: ArgumentHelp("Time to wait for each answer, in seconds.", valueName: "s"))
    var timeout = 2.0

    func validate() throws {
        if closed, rate != nil || sweep {
            throw ValidationError("--closed has no rate: leave out --rate and --sweep")
        }
        if givenP99 != nil, !sweep {
            throw ValidationError("--p99 is the bound of --sweep: add --sweep")
        }
        guard (rate ?? 1) > 0, p99 > 0, duration > 0, warmUp >= 0, timeout > 0 else {
            throw ValidationError("rates and times must be above 0")
        }
        guard lateLimit > 0, lateLimit <= 1000 else {
            throw ValidationError("--late-limit must be above 0 and at most 1000 ms")
        }
        guard (1...LoadLimits.connections).contains(connections),
            (1...LoadLimits.depth).contains(depth ?? 1)
        else {
            throw ValidationError(
                "--connections must be from 1 to \(LoadLimits.connections), "
                    + "--depth from 1 to \(LoadLimits.depth)")
        }
        guard (1...LoadLimits.longestWait).contains(longestWait ?? 1) else {
            throw ValidationError(
                "--longest-wait must be from 1 to \(LoadLimits.longestWait) ms")
        }
        guard (1...LoadLimits.threads).contains(threads) else {
            throw ValidationError("--threads must be from 1 to \(LoadLimits.threads)")
        }
        guard timeout <= Double(LoadLimits.longestTimeout) else {
            throw ValidationError(
                "--timeout must be at most \(LoadLimits.longestTimeout) s, like a server's")
        }
    }

    func settings(to server: Endpoint, app: String, serverProcess: Int32?) -> LoadSettings {
        var settings = LoadSettings(
            endpoint: server, pace: closed ? .closed : .open(rate: rate ?? 1000, arrivals),
            connections: connections, depth: depth ?? (closed ? 1 : LoadLimits.openDepth),
            threads: threads, duration: .seconds(duration), warmUp: .seconds(warmUp),
            timeout: .seconds(timeout), app: app, serverProcess: serverProcess)
        settings.mayWait = mayWait
        settings.longestWait = longestWait.map { .milliseconds($0) }
        settings.latenessLimit = UInt64(lateLimit * 1e6)
        return settings
    }

    /// The number of requests of a whole run, if known. An unknown chain can be sent only once.
    var chainsWanted: Int {
        guard !closed, !sweep else { return LoadLimits.mintedChains }
        return Int(((rate ?? 1000) * (duration + warmUp)).rounded(.up))
    }
}

extension Arrivals: Choice {}
