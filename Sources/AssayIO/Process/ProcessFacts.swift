import CLibuv
import Glibc

/// What the system reports about this process.
package struct ProcessFacts: Sendable {
    package var processorSeconds = 0.0
    package var residentBytes = 0
    package var virtualBytes = 0
    package var openDescriptors = 0
    package var maximumDescriptors = 0
    /// Start time of the process, in seconds since 1970.
    package var startSeconds = 0.0
    package var threads = 0

    /// The current values. A value that the system does not report stays 0.
    package static var own: ProcessFacts {
        var facts = ProcessFacts()
        facts.processorSeconds = Double(ProcessorTime.own) / 1e9
        facts.readStat()
        facts.openDescriptors = countDescriptors()
        facts.maximumDescriptors = Descriptors.limit
        return facts
    }

    /// Resident memory of this process in bytes, at low cost; nil if the system does not report
    /// it.
    package static var ownResidentBytes: Int? {
        guard let text = try? SystemFile.read("/proc/self/statm", limit: 256) else { return nil }
        let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private mutating func readStat() {
        guard let fields = Self.stat(of: "self"), fields.count > 21 else { return }
        threads = Int(fields[17]) ?? 0
        virtualBytes = Int(fields[20]) ?? 0
        residentBytes = (Int(fields[21]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        if let ticks = Double(fields[19]), let boot = Self.bootSeconds {
            startSeconds = boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }

    /// Returns the fields of a process's stat file, from the third field of proc(5) on.
    static func stat(of process: String) -> [Substring]? {
        guard let stat = try? SystemFile.read("/proc/\(process)/stat", limit: 4096),
            // The second field is in parentheses and can hold any characters.
            let end = stat.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        return String(decoding: stat[(end + 1)...], as: UTF8.self).split(separator: " ")
    }

    private static var bootSeconds: Double? {
        guard let stat = try? SystemFile.read("/proc/stat", limit: 1 << 20) else { return nil }
        let lines = String(decoding: stat, as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }

    /// Counts open descriptors, except the one that the count itself opens.
    private static func countDescriptors() -> Int {
        guard let folder = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(folder) }
        var count = 0
        while let entry = unsafe readdir(folder) {
            // Skips "." and "..".
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return max(count - 1, 0)
    }
}
