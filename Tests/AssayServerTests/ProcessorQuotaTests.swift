import AssayIO
import Foundation
import Testing

/// The default number of workers where control groups limit the processor's time.
@Suite struct ProcessorQuotaTests {
    /// The files of a system, by path.
    private static func quota(_ files: [String: String]) throws -> Double? {
        let root = NSTemporaryDirectory() + "quota-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for (path, text) in files {
            let file = URL(fileURLWithPath: root + path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return ProcessorQuota.processors(in: root)
    }

    private static let groups = "/proc/self/cgroup"
    private static let folder = "/sys/fs/cgroup"

    @Test("A quota of version 2 is that of the group or of one above it, whichever is less")
    func unified() throws {
        func quota(_ files: [String: String], group: String = "0::/a/b\n") throws -> Double? {
            var all = [Self.groups: group]
            for (path, text) in files { all[Self.folder + path + "/cpu.max"] = text }
            return try Self.quota(all)
        }
        #expect(try quota(["/a/b": "150000 100000\n"]) == 1.5)
        #expect(try quota(["/a/b": "max 100000\n"]) == nil)
        #expect(try quota(["/a/b": "400000 100000\n", "/a": "200000 100000\n"]) == 2)
        #expect(try quota(["/a/b": "max 100000\n", "": "50000 100000\n"]) == 0.5)
        // A container's own group, by the path of its host.
        #expect(try quota(["": "300000 100000\n"]) == 3)
        #expect(try quota(["": "300000 100000\n"], group: "0::/\n") == 3)
        #expect(try quota([:]) == nil)
        for wrong in ["", "150000", "x 100000", "0 100000", "-1 100000", "1 0", "1 2 3"] {
            #expect(try quota(["/a/b": wrong]) == nil, "\(wrong)")
        }
    }

    @Test("A quota of version 1 is that of the controller of processor time")
    func older() throws {
        func quota(_ microseconds: String, at path: String, _ groups: String) throws -> Double? {
            try Self.quota([
                Self.groups: groups,
                Self.folder + path + "/cpu.cfs_quota_us": microseconds,
                Self.folder + path + "/cpu.cfs_period_us": "100000\n",
            ])
        }
        let groups = "4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n"
        #expect(try quota("250000\n", at: "/cpu,cpuacct/a", groups) == 2.5)
        #expect(try quota("250000\n", at: "/cpu,cpuacct", groups) == 2.5)
        #expect(try quota("-1\n", at: "/cpu,cpuacct/a", groups) == nil)
        #expect(try quota("250000\n", at: "/memory/a", groups) == nil)
        #expect(try quota("250000\n", at: "/cpuset/a", "3:cpuset:/a\n") == nil)
    }

    @Test("Without control groups there is no quota")
    func none() throws {
        #expect(try Self.quota([:]) == nil)
        #expect(try Self.quota([Self.groups: "no group\n\n::\n"]) == nil)
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
