import AssayIO

/// The event loop of all clients without a loop of their own. It runs until the process ends.
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
