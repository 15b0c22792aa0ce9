extension TLSContext {
    /// A client that trusts whom the system trusts, and shows nothing.
    package static func ofTheSystem() throws(LoopError) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext(client: TLSClientSettings())
        } catch {
            throw .tls(error)
        }
    }
}
