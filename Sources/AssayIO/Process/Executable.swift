import CLibuv
import Glibc

/// The programs of this machine, and the one of this process.
package enum Executable {
    /// The folder of this process's executable, with symbolic links resolved; nil if the system
    /// does not report it.
    package static var ownFolder: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        var count = path.count
        guard unsafe uv_exepath(&path, &count) == 0 else { return nil }
        let bytes = path.prefix(count).map(UInt8.init(bitPattern:))
        guard let end = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Whether this process can run the file.
    package static func isRunnable(_ path: String) -> Bool {
        var facts = stat()
        return unsafe stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }

    /// Runs another program in the place of this one, as the same process: with its arguments byte
    /// by byte, its environment, and its descriptors that are not closed on exec. Returns only by
    /// an error.
    ///
    /// Call it on the main thread, and before anything blocks or ignores signals: the program
    /// inherits that.
    package static func replaceProcess(by path: String) throws(LoopError) -> Never {
        let name = unsafe strdup(path)
        defer { unsafe free(name) }
        var arguments = unsafe [name]
        for index in 1..<max(1, Int(CommandLine.argc)) {
            unsafe arguments.append(CommandLine.unsafeArgv[index])
        }
        unsafe arguments.append(nil)
        unsafe execv(path, arguments)
        throw LoopError(code: -errno)
    }
}
