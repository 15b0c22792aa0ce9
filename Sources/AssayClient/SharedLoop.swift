import AssayIO

/// The loop of all clients that were not given one. It runs as long as the process.
enum SharedLoop {
    private static let started: Result<EventLoop, LoopError> = {
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-client")
            try loop.start()
            return .success(loop)
        } catch {
            return .failure(error)
        }
    }()

    static func get() throws(LoopError) -> EventLoop { try started.get() }
}
