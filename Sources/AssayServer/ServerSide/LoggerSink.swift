#if ServerSide
    public import AssayIO
    import AssayService
    import AssayTelemetry
    public import Logging

    /// Writes the server's log to a `Logger`: the event is the message, its fields are the
    /// metadata. No line contains evidence or names a customer.
    public struct LoggerSink: LogSink {
        private let logger: Logger

        /// Creates a sink of a logger.
        public init(_ logger: Logger) { self.logger = logger }

        public func write(_ line: String) { logger.info("\(line)") }
    }

    extension LoggerSink: EventSink {
        package func write(
            _ level: Log.Level, _ event: StaticString,
            _ fields: KeyValuePairs<StaticString, Log.Value>
        ) {
            var metadata = Logger.Metadata()
            for (name, value) in fields {
                switch value {
                case .text(let text): metadata["\(name)"] = "\(text)"
                case .number(let number): metadata["\(name)"] = "\(number)"
                }
            }
            logger.log(level: level.ofLogger, "\(event)", metadata: metadata)
        }
    }

    extension Log.Level {
        fileprivate var ofLogger: Logger.Level {
            switch self {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        }
    }

    extension ServerConfiguration {
        /// Creates a configuration that logs to a logger, at debug level where the logger does.
        public init(
            listen: [Endpoint], apps: [String: AppEntry], defaultApp: String? = nil, logger: Logger
        ) {
            self.init(
                listen: listen, apps: apps, defaultApp: defaultApp, log: LoggerSink(logger))
            fixed.logsDebug = logger.logLevel <= .debug
        }
    }
#endif
