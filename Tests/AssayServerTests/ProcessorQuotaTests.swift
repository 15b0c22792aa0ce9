import AssayIO
import Foundation
import Testing

/// The default number of workers where control groups limit the processor's time.
@Suite struct ProcessorQuotaTests {
    /// The files of a system, and the quota that they give.
    struct System: Sendable {
        let groups: String
        let files: [String: String]
        let quota: Double?

        /// Version 2, by the folder of each `cpu.max`.
        static func unified(
            _ group: String, _ files: [String: String], _ quota: Double?
        ) -> Self {
            System(
                groups: "0::\(group)\n",
                files: Dictionary(
                    uniqueKeysWithValues: files.map { ($0 + "/cpu.max", $1) }), quota: quota)
        }

        /// Version 1, with a period of 100 ms.
        static func older(
            _ groups: String, _ folder: String, _ microseconds: String, _ quota: Double?
        ) -> Self {
            System(
                groups: groups,
                files: [
                    folder + "/cpu.cfs_quota_us": microseconds,
                    folder + "/cpu.cfs_period_us": "100000\n",
                ], quota: quota)
        }
    }

    private static let groups = "4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n"

    private static let systems: [System] = [
        .unified("/a/b", ["/a/b": "150000 100000\n"], 1.5),
        .unified("/a/b", ["/a/b": "max 100000\n"], nil),
        // The smallest of a group and those above it.
        .unified("/a/b", ["/a/b": "400000 100000\n", "/a": "200000 100000\n"], 2),
        .unified("/a/b", ["/a/b": "max 100000\n", "": "50000 100000\n"], 0.5),
        // A container's own group, by the path of its host.
        .unified("/a/b", ["": "300000 100000\n"], 3),
        .unified("/", ["": "300000 100000\n"], 3),
        .unified("/a/b", [:], nil),
        .unified("/a/b", ["/a/b": ""], nil),
        .unified("/a/b", ["/a/b": "150000"], nil),
        .unified("/a/b", ["/a/b": "x 100000"], nil),
        .unified("/a/b", ["/a/b": "0 100000"], nil),
        .unified("/a/b", ["/a/b": "-1 100000"], nil),
        .unified("/a/b", ["/a/b": "1 0"], nil),
        .unified("/a/b", ["/a/b": "1 2 3"], nil),
        .older(groups, "/cpu,cpuacct/a", "250000\n", 2.5),
        .older(groups, "/cpu,cpuacct", "250000\n", 2.5),
        .older(groups, "/cpu,cpuacct/a", "-1\n", nil),
        .older(groups, "/memory/a", "250000\n", nil),
        .older("3:cpuset:/a\n", "/cpuset/a", "250000\n", nil),
        .older("no group\n\n::\n", "", "250000\n", nil),
    ]

    @Test("A quota is that of the control group of processor time", arguments: systems)
    func quota(_ system: System) throws {
        let root = NSTemporaryDirectory() + "quota-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        try Self.write(system.groups, to: root + "/proc/self/cgroup")
        for (path, text) in system.files {
            try Self.write(text, to: root + "/sys/fs/cgroup" + path)
        }
        let quota = ProcessorQuota.processors(in: root)
        #expect(quota == system.quota)
    }

    @Test("A system without control groups has no quota")
    func none() {
        let quota = ProcessorQuota.processors(in: "/nowhere")
        #expect(quota == nil)
    }

    private static func write(_ text: String, to path: String) throws {
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    @Test(
        "A quota lowers the number of threads, rounded up, to one at least",
        arguments: [
            (8, nil, 8), (8, 1.5, 2), (8, 0.1, 1), (8, 8, 8), (8, 64, 8), (1, 0.5, 1), (2, 1, 1),
        ] as [(Int, Double?, Int)])
    func parallelism(_ processors: Int, _ quota: Double?, _ expected: Int) {
        #expect(SystemClock.parallelism(of: processors, quota: quota) == expected)
    }
}
