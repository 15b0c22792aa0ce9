import Assay
import Foundation

/// The machine of the measurement.
enum Machine {
    static var description: String {
        let facts = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        return "\(ProcessInfo.processInfo.activeProcessorCount) × \(processor(facts)), "
            + ProcessInfo.processInfo.operatingSystemVersionString
            + ", signature engine \(SignatureEngine.best)"
    }

    /// The name of the processor. Virtual machines use one name for several generations, so
    /// family and model are added. ARM has an implementer and a part instead of a name.
    ///
    /// - Parameter facts: The text of /proc/cpuinfo (proc(5)); empty if it is unreadable.
    static func processor(_ facts: String) -> String {
        var fields: [String: String] = [:]
        for line in facts.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            if parts.count == 2, fields[parts[0]] == nil { fields[parts[0]] = parts[1] }
        }
        var words: [String] = []
        if let name = fields["model name"] ?? fields["Model"] ?? fields["cpu model"] {
            words.append(name)
        }
        if let family = fields["cpu family"], let model = fields["model"] {
            words.append("family \(family) model \(model)")
        } else if let implementer = fields["CPU implementer"], let part = fields["CPU part"] {
            words.append("implementer \(implementer) part \(part)")
        }
        if words.isEmpty { words.append("unknown processor (\(architecture))") }
        let flags = (fields["flags"] ?? fields["Features"] ?? "").split(separator: " ")
        if flags.contains("sha_ni") || flags.contains("sha2") { words.append("SHA instructions") }
        return words.joined(separator: ", ")
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "arm64"
        #else
            "unknown architecture"
        #endif
    }

    /// What cannot be measured here, whatever the suite, and why.
    static var omissions: [Omission] {
        omissions(
            processors: ProcessInfo.processInfo.activeProcessorCount,
            unsupported: SignatureEngine.allCases.filter { !$0.isSupported }.map(\.rawValue),
            missing: programs.keys.filter { program in
                !folders.contains {
                    FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
                }
            })
    }

    /// The programs that suites start, with the Debian package of each.
    private static let programs = [
        "setpriv": "util-linux", "taskset": "util-linux", "openssl": "openssl", "g++": "g++",
        "h2load": "nghttp2-client",
    ]
    private static let folders =
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")

    /// - Parameters:
    ///   - unsupported: The signature engines that the processor cannot run.
    ///   - missing: The programs of `programs` that are not installed.
    static func omissions(
        processors: Int, unsupported: [String], missing: [String]
    ) -> [Omission] {
        var all = unsupported.sorted().map { engine in
            Omission(
                "rows of the engine \(engine)",
                "the processor does not have "
                    + (SignatureEngine(rawValue: engine)?.instructions ?? "its instructions"))
        }
        if processors < 2 {
            all.append(
                Omission(
                    "a server on a processor of its own",
                    "the machine has one processor, so rates and latencies include the client"))
        }
        return all
            + missing.sorted().map { program in
                Omission(
                    "rows that need \(program)",
                    "it is not installed: apt-get install \(programs[program] ?? program)")
            }
    }

    /// The load from other processes while this one sleeps; nil below a twentieth of a processor.
    static var busyness: String? {
        let before = ticks
        usleep(500_000)
        let after = ticks
        let used = Double(after.busy - before.busy) / Double(sysconf(Int32(_SC_CLK_TCK))) * 2
        guard used >= 0.05 else { return nil }
        return "The machine was busy before the run: others used \(used.short) processors. "
            + "This affects wall-clock rates and latencies; processor times and ratios less."
    }

    /// A warning if the system's congestion control paces senders: on loopback it takes a pause
    /// of the reader for the link's speed.
    static var pacing: String? {
        let path = "/proc/sys/net/ipv4/tcp_congestion_control"
        let name = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        guard name.hasPrefix("bbr") else { return nil }
        return "TCP uses bbr, which paces on loopback: clients stall in an overload. Run "
            + "sysctl -w net.ipv4.tcp_congestion_control=cubic first."
    }

    /// The sum over all processors since boot.
    private static var ticks: (busy: Int, idle: Int) {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        // The fields by proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
        let fields = (text.split(separator: "\n").first ?? "").split(separator: " ").dropFirst()
            .prefix(8).map { Int($0) ?? 0 }
        guard fields.count == 8 else { return (0, 0) }
        let idle = fields[3] + fields[4]
        return (fields.reduce(0, +) - idle, idle)
    }
}
