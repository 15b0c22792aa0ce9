import AssayIO
import Glibc

/// A server that behaves as a script says, for the conformance suite. It is no part of the
/// product. `conformance/run` starts it and writes commands to its standard input, one a line;
/// each is answered with one line.
///
///     listen tcp : SCRIPT | SCRIPT ...            the address
///     listen unix PATH : SCRIPT ...
///     listen tls CERTIFICATE KEY [AUTHORITY] : SCRIPT ...
///     report                                      what happened since the last one; closes all
///
/// The first script is for the address's first connection and so on; the last one is for all
/// further connections. `Statement` has the statements.
@main
struct ConformanceServer {
    static func main() throws {
        let loop = try EventLoop(name: "conformance")
        try loop.start()
        let stage = Stage(on: loop)
        while let line = readLine() {
            print(perform(line, on: stage))
            // The reader waits for the line.
            fflush(nil)
        }
    }

    private static func perform(_ line: String, on stage: Stage) -> String {
        do {
            let halves = line.split(separator: ":", maxSplits: 1).map(String.init)
            // A path has no spaces, and no colon with a space on each side.
            let words = (halves.first ?? "").split(separator: " ").map(String.init)
            switch (words.first, words.count) {
            case ("report", 1): return try stage.report()
            case ("listen", 2...) where halves.count == 2:
                return try stage.listen(
                    Address(Array(words.dropFirst())), try Script.parse(halves[1]))
            default: throw ScriptError("unknown command: \(line)")
            }
        } catch {
            return "error \(error)"
        }
    }
}

/// A mistake in a command or script.
struct ScriptError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Where a `listen` command listens.
struct Address {
    let endpoint: Endpoint
    let tls: TLSServerSettings?

    init(_ words: [String]) throws {
        switch (words[0], words.count) {
        case ("tcp", 1): (endpoint, tls) = (.tcp(host: "127.0.0.1", port: 0), nil)
        case ("unix", 2): (endpoint, tls) = (.unix(path: words[1]), nil)
        case ("tls", 3), ("tls", 4):
            endpoint = .tls(host: "127.0.0.1", port: 0)
            tls = TLSServerSettings(
                certificate: words[1], key: words[2],
                clientAuthority: words.count == 4 ? words[3] : nil)
        default: throw ScriptError("unknown address: \(words.joined(separator: " "))")
        }
    }
}

/// All listeners and connections of a case. Only the loop's thread uses its state, hence
/// `@unchecked Sendable`.
final class Stage: @unchecked Sendable {
    private let loop: EventLoop
    private var listeners: [Listener] = []
    private var connections: [ScriptedConnection] = []
    private var events: [String] = []

    init(on loop: EventLoop) { self.loop = loop }

    /// Returns the address, with the port that the system chose.
    func listen(_ address: Address, _ scripts: [[Statement]]) throws -> String {
        let context = try address.tls.map { settings in try TLSContext(server: settings) }
        return try loop.call { [self] () throws(LoopError) in
            let name = listeners.count + 1
            var count = 0
            let listener = try Listener(on: loop, at: address.endpoint) { [self] stream in
                count += 1
                accept(
                    stream, "\(name).\(count)", scripts[min(count, scripts.count) - 1], context)
            }
            listeners.append(listener)
            return "\(listener.endpoint)"
        }
    }

    /// Returns the events, separated by spaces, and closes everything.
    func report() throws -> String {
        try loop.call { [self] () throws(LoopError) in
            defer { (listeners, connections, events) = ([], [], []) }
            for listener in listeners { listener.close() }
            for connection in connections { connection.close() }
            return "events " + events.joined(separator: " ")
        }
    }

    private func accept(
        _ stream: Stream, _ name: String, _ script: [Statement], _ context: TLSContext?
    ) {
        events.append("open:\(name)")
        do {
            let connection = try ScriptedConnection(stream, on: loop, script) { [self] event in
                events.append(event.replacing("@", with: name))
            }
            connections.append(connection)
            try connection.start(context)
        } catch {
            stream.close()
        }
    }
}
