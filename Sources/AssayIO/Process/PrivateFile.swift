import CLibuv
import Glibc

/// Files that nobody but the process's user may read, such as private keys.
package enum PrivateFile {
    package enum Failure: Error, Hashable {
        /// Opening or reading the file failed.
        case unreadable(LoopError)
        /// A folder, a pipe or a device.
        case notAFile
        /// Others than its owner can read or write the file; its permissions.
        case isOpenToOthers(mode: UInt32)
        /// Neither the process's user nor root owns the file.
        case hasForeignOwner(user: UInt32)
        /// The file is longer than the limit.
        case tooLong(limit: Int)
    }

    /// Returns the whole content of a file, after the check of the open file's owner and
    /// permissions.
    ///
    /// The owner is the process's user, and nobody else has permissions. Or it is root, which lets
    /// the process's group read: so containers and service managers pass files on.
    package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = unsafe path.withCString { name in
            unsafe Glibc.open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        }
        guard descriptor >= 0 else { throw .unreadable(LoopError(code: -errno)) }
        defer { _ = Glibc.close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw .unreadable(LoopError(code: -errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        try check(owner: status.st_uid, mode: status.st_mode & 0o7777, user: geteuid())
        guard status.st_size <= limit else { throw .tooLong(limit: limit) }
        var content: [UInt8] = []
        // A file that does not move in memory as it grows leaves no copies of itself behind.
        content.reserveCapacity(limit + 1)
        var chunk = [UInt8](repeating: 0, count: limit + 1)
        defer { clear(&chunk) }
        while true {
            let count: Int
            do throws(LoopError) {
                count = try SystemFile.read(descriptor, into: &chunk)
            } catch {
                throw .unreadable(error)
            }
            guard count > 0 else { return content }
            guard content.count + count <= limit else { throw .tooLong(limit: limit) }
            content += chunk[..<count]
        }
    }

    /// Checks a file's owner and permissions.
    package static func check(owner: UInt32, mode: UInt32, user: UInt32) throws(Failure) {
        let isRoots = owner == 0 && user != 0
        guard owner == user || isRoots else { throw .hasForeignOwner(user: owner) }
        guard mode & (isRoots ? 0o037 : 0o077) == 0 else { throw .isOpenToOthers(mode: mode) }
    }

    /// Overwrites a secret with zeros.
    package static func clear(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { memory in
            guard let start = memory.baseAddress else { return }
            unsafe explicit_bzero(start, memory.count)
        }
    }
}

extension PrivateFile.Failure: CustomStringConvertible {
    /// What is wrong and what to do, after "can't use PATH: ".
    package var description: String {
        switch self {
        case .unreadable(let error): error.description
        case .notAFile: "it is not a file"
        case .isOpenToOthers(let mode):
            "others may read it (mode \(String(mode, radix: 8))): chmod 600, or 640 if it "
                + "belongs to root"
        case .hasForeignOwner(let user):
            "it belongs to user \(user): chown it to the user of this process"
        case .tooLong(let limit): "it is longer than \(limit) bytes"
        }
    }
}
