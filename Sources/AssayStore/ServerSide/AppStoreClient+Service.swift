#if ServerSide
    public import ServiceLifecycle

    extension AppStoreClient: Service {
        /// Returns when its group shuts down, with the connections closed. A group ends its
        /// services in the reverse order: name the client before what calls it.
        public func run() async throws {
            // Thrown for a cancelled task alone, which is the other way to end.
            try? await gracefulShutdown()
            close()
        }
    }
#endif
