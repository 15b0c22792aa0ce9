import Foundation

/// Where it is measured.
enum Machine {
    static var description: String {
        let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
        return "\(ProcessInfo.processInfo.activeProcessorCount) × \(model ?? "unknown processor"), "
            + ProcessInfo.processInfo.operatingSystemVersionString
    }

    /// What others do while this process sleeps: nil below a twentieth of a processor.
    static var busyness: String? {
        let before = ticks
        usleep(500_000)
        let after = ticks
        let used = Double(after.busy - before.busy) / Double(sysconf(Int32(_SC_CLK_TCK))) * 2
        guard used >= 0.05 else { return nil }
        return "The machine was busy before the run began: others used \(used.short) processors. "
            + "Rates by the clock and latencies suffer from it; processor times and ratios less."
    }

    /// Of all processors since the start.
    private static var ticks: (busy: Int, idle: Int) {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        // proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
        let fields = (text.split(separator: "\n").first ?? "").split(separator: " ").dropFirst()
            .prefix(8).map { Int($0) ?? 0 }
        guard fields.count == 8 else { return (0, 0) }
        let idle = fields[3] + fields[4]
        return (fields.reduce(0, +) - idle, idle)
    }
}
