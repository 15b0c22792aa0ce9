/// The processor time that the system's control groups leave to this process, as containers and
/// systemd limit it (`cpu.max` of version 2, `cpu.cfs_quota_us` of version 1).
package enum ProcessorQuota {
    /// The number of processors whose time the process gets; nil without a quota.
    ///
    /// - Parameter root: the folder that holds `proc` and `sys`; for tests.
    package static func processors(in root: String = "") -> Double? {
        guard let groups = text(root + "/proc/self/cgroup") else { return nil }
        return groups.split(separator: "\n").compactMap { group in
            // hierarchy-ID:controller-list:cgroup-path
            let fields = group.split(
                separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return nil }
            let folder = root + "/sys/fs/cgroup"
            if fields[0] == "0", fields[1].isEmpty {
                return smallest(above: fields[2]) { unified(folder + $0) }
            }
            guard fields[1].split(separator: ",").contains("cpu") else { return nil }
            return smallest(above: fields[2]) { older(folder + "/" + fields[1] + $0) }
        }.min()
    }

    /// The smallest quota of a group and those that it is in. A container sees the path of its host
    /// and mounts its own group as the uppermost, so a folder that is not there has no quota.
    private static func smallest(
        above path: Substring, _ quota: (String) -> Double?
    ) -> Double? {
        var names = path.split(separator: "/")
        var quotas: [Double?] = []
        while !names.isEmpty {
            quotas.append(quota("/" + names.joined(separator: "/")))
            names.removeLast()
        }
        return (quotas + [quota("")]).compactMap(\.self).min()
    }

    /// `cpu.max`: microseconds of processor time or `max`, and those of a period.
    private static func unified(_ folder: String) -> Double? {
        guard let fields = text(folder + "/cpu.max")?.split(whereSeparator: \.isWhitespace),
            fields.count == 2
        else { return nil }
        return ratio(fields[0], fields[1])
    }

    /// A quota of -1 is none.
    private static func older(_ folder: String) -> Double? {
        guard let quota = text(folder + "/cpu.cfs_quota_us"),
            let period = text(folder + "/cpu.cfs_period_us")
        else { return nil }
        return ratio(quota.prefix { !$0.isWhitespace }, period.prefix { !$0.isWhitespace })
    }

    private static func ratio(_ quota: Substring, _ period: Substring) -> Double? {
        guard let quota = Int(quota), let period = Int(period), quota > 0, period > 0 else {
            return nil
        }
        return Double(quota) / Double(period)
    }

    private static func text(_ path: String) -> String? {
        guard let bytes = try? SystemFile.read(path, limit: limit) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A process is in a dozen groups at most, whose paths are some hundred bytes long.
    private static let limit = 64 << 10
}
