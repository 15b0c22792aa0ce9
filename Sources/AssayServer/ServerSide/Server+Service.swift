#if ServerSide
    public import ServiceLifecycle

    extension Server: ServiceLifecycle.Service {
        /// How often the counters are passed on to swift-metrics: as often as most systems collect
        /// them, or more often.
        private static let reportPeriod = Duration.seconds(5)

        /// Serves until the server has ended, and drains it when the group shuts down or its task
        /// is cancelled. Passes its counters on to swift-metrics meanwhile, and at the end, when
        /// its last spans are exported, too.
        ///
        /// A group has the signals of the process: do not call `followSignals()` beside it.
        @_disfavoredOverload
        public func run() async throws {
            var report = await withTaskGroup(of: MetricsReport.self) { group in
                group.addTask { await self.reportUntilCancelled() }
                await withGracefulShutdownHandler {
                    let _: ServerEnd = await self.run()
                } onGracefulShutdown: {
                    self.drain()
                }
                group.cancelAll()
                return await group.next() ?? MetricsReport()
            }
            report.report(monitor)
            spans?.stop()
        }

        private func reportUntilCancelled() async -> MetricsReport {
            var report = MetricsReport()
            while (try? await Task.sleep(for: Self.reportPeriod)) != nil { report.report(monitor) }
            return report
        }
    }

    extension ServerConfiguration {
        /// The configuration with a monitor: that of the configuration, or one of its own.
        var monitored: (configuration: ServerConfiguration, monitor: ServerMonitor) {
            var configuration = self
            let monitor = fixed.monitor ?? ServerMonitor()
            configuration.fixed.monitor = monitor
            return (configuration, monitor)
        }
    }

    extension MetricsReport {
        fileprivate mutating func report(_ monitor: ServerMonitor) {
            if let state = monitor.latest?.state { report(state) }
        }
    }
#endif
