import AssayIO
import AssayModels

/// The circumstances of a run, beside its settings: date, machine, versions.
package struct RunRecord: Sendable {
    /// The command line that repeats the run.
    package var command: String
    /// The date (RFC 3339).
    package var date: String
    /// The version of the generator.
    package var version: String
    /// The server's version and signature engine; nil if it did not say.
    package var server: Server?
    package var machine: Machine

    package struct Server: Sendable {
        package var version: String
        package var engine: String

        package init(version: String, engine: String) {
            self.version = version
            self.engine = engine
        }
    }

    /// The generator's machine. A server on another machine is not described.
    package struct Machine: Sendable {
        /// The processor's name; empty if the system does not say it.
        package var processor: String
        /// The number of processors that the generator can use.
        package var processors: Int
        /// The distribution and the kernel.
        package var system: String

        package init(processor: String, processors: Int, system: String) {
            self.processor = processor
            self.processors = processors
            self.system = system
        }
    }

    package init(
        command: String, date: String, version: String = AssayVersion.current,
        server: Server? = nil, machine: Machine = .own
    ) {
        self.command = command
        self.date = date
        self.version = version
        self.server = server
        self.machine = machine
    }

    /// The versions in one line.
    var versions: String {
        let engine = server.map { $0.engine.isEmpty ? "" : ", signature engine \($0.engine)" }
        return "generator \(version)"
            + (server.map { ", server \($0.version)" } ?? "") + (engine ?? "")
    }
}

extension RunRecord.Machine {
    /// This machine.
    package static var own: RunRecord.Machine {
        let release = text("/etc/os-release")
        let name = value(of: "PRETTY_NAME", in: release, "=")
        let kernel = text("/proc/sys/kernel/osrelease").split(separator: "\n").first ?? ""
        let facts = text("/proc/cpuinfo")
        // ARM systems have no name there.
        let processor = value(of: "model name", in: facts, ":")
        return RunRecord.Machine(
            processor: processor, processors: SystemClock.availableParallelism,
            system: [name, kernel.isEmpty ? "" : "Linux \(kernel)"].filter { !$0.isEmpty }
                .joined(separator: ", "))
    }

    /// The processors and the system in one line, for reports.
    var line: String {
        "\(processors) × \(processor.isEmpty ? "processor" : processor)"
            + (system.isEmpty ? "" : ", \(system)")
    }

    /// Above the size of /proc/cpuinfo on machines with hundreds of processors.
    private static let limit = 4 << 20

    private static func text(_ path: String) -> String {
        let content = (try? SystemFile.read(path, limit: limit)).flatMap { $0 } ?? []
        return String(decoding: content, as: UTF8.self)
    }

    /// The first value of a line `NAME SEPARATOR VALUE`, without quotes; empty if there is none.
    static func value(of name: String, in text: String, _ separator: Character) -> String {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: separator, maxSplits: 1)
            let key = parts[0].drop { $0 == " " }
            guard parts.count == 2, key.hasPrefix(name),
                key.dropFirst(name.count).allSatisfy({ $0 == " " || $0 == "\t" })
            else { continue }
            return String(parts[1].filter { $0 != "\"" }.drop { $0 == " " })
        }
        return ""
    }
}
