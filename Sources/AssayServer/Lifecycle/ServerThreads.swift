import AssayIO
import AssayService

/// Starts the threads of a server: that of the listeners, the workers with their state, and those
/// for other work.
struct ServerThreads {
    let loop: EventLoop
    let workers: [Worker]
    let shared: SharedResources

    init(_ configuration: ServerConfiguration) throws(LoopError) {
        let loop = try EventLoop(name: "assay-accept")
        try loop.start()
        var workers: [Worker] = []
        do throws(LoopError) {
            for index in 0..<configuration.workers {
                let worker = Worker(index, on: try EventLoop(name: "assay-worker-\(index)"))
                try worker.loop.start()
                workers.append(worker)
            }
            let shared = try SharedResources(
                configuration.limits, workers.map(\.helper), SystemTransport(),
                backgroundThreads: configuration.fixed.backgroundThreads)
            for worker in workers {
                try worker.loop.call { () throws(LoopError) in
                    try worker.begin(configuration, shared)
                }
            }
            (self.loop, self.workers, self.shared) = (loop, workers, shared)
        } catch {
            for loop in workers.map(\.loop) + [loop] {
                loop.stop()
                loop.join()
            }
            throw error
        }
    }
}
