extension TLSContext {
    /// Returns a client context that trusts the system's authorities and has no certificate.
    package static func ofTheSystem() throws(LoopError) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext(client: TLSClientSettings())
        } catch {
            throw .tls(error)
        }
    }
}
