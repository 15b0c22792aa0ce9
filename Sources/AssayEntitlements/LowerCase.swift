extension String {
    /// The text in lower case. Apple writes UUIDs in it, so there is mostly nothing to do.
    var inLowerCase: String {
        let bytes = utf8.span
        for index in bytes.indices {
            let byte = bytes[index]
            if byte >= 0x80 || byte >= 0x41 && byte <= 0x5A { return lowercased() }
        }
        return self
    }
}
