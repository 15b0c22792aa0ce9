package import AssayIO

/// Takes records: lines of the audit log, or spans. One thread uses it, which can wait.
package protocol RecordSink: AnyObject {
    /// Opens the destination, or opens it again: the file possibly has another name now.
    func open() throws(LoopError)

    /// Prepares for the records that follow: notices that a file was renamed or removed.
    func prepare() throws(LoopError)

    /// Takes bytes from `start` on. An error takes back the beginning of a record that has no end.
    ///
    /// - Returns: how many; 0 if it takes none now.
    func write(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int
}
