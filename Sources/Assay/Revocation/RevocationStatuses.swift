import AssayBytes
import AssayLocks
public import AssayModels

/// The revocation statuses that verifiers use: OCSP responses and CRLs that the caller adds.
///
/// A document is verified when a chain that it is about has validated: only then is its issuer
/// known. Threads and verifiers share one object freely. Statuses that are added or removed apply
/// to the next evidence.
public final class RevocationStatuses: Sendable {
    private struct State {
        var documents: [String: RevocationDocument] = [:]
        var bytes = 0
        var cells: [CertificateID: StatusCell] = [:]

        mutating func insert(
            _ document: RevocationDocument, named name: String
        ) throws(RevocationError) {
            let replaced = documents[name]?.bytes ?? 0
            guard documents[name] != nil || documents.count < Limits.revocationDocuments,
                bytes - replaced + document.bytes <= Limits.revocationBytes
            else { throw .tooManyDocuments(limit: Limits.revocationDocuments) }
            bytes += document.bytes - replaced
            documents[name] = document
        }

        /// Removes the certificates that nothing else refers to.
        mutating func removeUnusedCells() {
            for id in Array(cells.keys) where isKnownUniquelyReferenced(&cells[id]!) {
                cells[id] = nil
            }
        }
    }

    private let state = Locked(State())
    private let didFind: @Sendable (StatusCell) -> Void

    /// Creates an empty store.
    public convenience init() { self.init { _ in } }

    /// - Parameter didFind: called once for each certificate of a chain that has validated, and
    ///   under which a signature held, on the thread that verifies.
    package init(didFind: @escaping @Sendable (StatusCell) -> Void) { self.didFind = didFind }

    /// Adds an OCSP response in DER, a CRL in DER, or CRLs in PEM. They replace those of this name.
    ///
    /// - Parameters:
    ///   - document: the bytes.
    ///   - name: names the document, such as its path.
    ///   - now: the current time. A document that is from the future is refused.
    public func add(
        _ document: [UInt8], named name: String, at now: Timestamp
    ) throws(RevocationError) {
        let document = try RevocationDocument(document, at: now)
        let cells = try state.withLock { state throws(RevocationError) in
            try state.insert(document, named: name)
            return Array(state.cells.values)
        }
        for cell in cells { compare(document, named: name, with: cell) }
    }

    /// Removes the document of this name, and what it says.
    public func remove(named name: String) {
        let cells = state.withLock { state in
            state.bytes -= state.documents.removeValue(forKey: name)?.bytes ?? 0
            return Array(state.cells.values)
        }
        for cell in cells {
            cell.update { details in
                details.statuses[name] = nil
                details.problems[name] = nil
            }
        }
    }

    /// The names of the documents, sorted.
    public var names: [String] { state.withLock { $0.documents.keys.sorted() } }

    /// The certificates of chains that have validated, sorted by their identifiers.
    package var cells: [StatusCell] {
        state.withLock { Array($0.cells.values) }
            .sorted { $0.id.description < $1.id.description }
    }

    /// Checks a document that answers a request for one certificate's status, and adds it.
    ///
    /// - Parameter name: names the document by the status that it has.
    /// - Returns: the status of the certificate.
    package func accept(
        _ bytes: [UInt8], for cell: StatusCell, at now: Timestamp,
        named name: (RevocationStatus) -> String
    ) throws(RevocationError) -> RevocationStatus {
        let document = try RevocationDocument(bytes, at: now)
        guard let status = try document.status(of: cell) else { throw .anotherCertificate }
        let name = name(status)
        // What is revoked stays revoked, however old the statement is.
        if !status.isFinal {
            if status.isStale(at: now) { throw .stale }
            if let known = state.withLock({ $0.documents[name] }),
                let earlier = try? known.status(of: cell),
                earlier.thisUpdate > status.thisUpdate || earlier.isFinal
            {
                throw .older
            }
        }
        try add(bytes, named: name, at: now)
        return status
    }

    /// The cell of a certificate of a chain that has validated. Waits while another thread compares
    /// the documents with a certificate that is new, so that all threads give the same verdicts.
    func cell(
        of certificate: Certificate, under issuer: Certificate, as position: ChainPosition
    ) -> StatusCell {
        let id = CertificateID(certificate, under: issuer)
        let cell = state.withLock { state in
            if let cell = state.cells[id] { return cell }
            if state.cells.count >= Limits.revocationCertificates { state.removeUnusedCells() }
            let cell = StatusCell(id, certificate, under: issuer, position: position)
            state.cells[id] = cell
            return cell
        }
        let isNew = cell.isCompared.withLock { isCompared in
            guard !isCompared else { return false }
            isCompared = true
            for (name, document) in state.withLock({ $0.documents }) {
                compare(document, named: name, with: cell)
            }
            return true
        }
        if isNew { didFind(cell) }
        return cell
    }

    /// What a document says of a certificate, with its signature checked; nil for nothing. For the
    /// fuzzer.
    package static func status(
        in document: [UInt8], of certificate: Certificate, under issuer: Certificate,
        at now: Timestamp
    ) -> RevocationStatus? {
        let id = CertificateID(certificate, under: issuer)
        let cell = StatusCell(id, certificate, under: issuer, position: .leaf)
        return try? RevocationDocument(document, at: now).status(of: cell)
    }

    private func compare(
        _ document: RevocationDocument, named name: String, with cell: StatusCell
    ) {
        let result: Result<RevocationStatus?, RevocationError>
        do throws(RevocationError) {
            result = .success(try document.status(of: cell))
        } catch {
            result = .failure(error)
        }
        cell.update { details in
            // Another thread can have replaced or removed it meanwhile, and has compared too.
            guard state.withLock({ $0.documents[name] === document }) else { return }
            switch result {
            case .success(let status):
                (details.statuses[name], details.problems[name]) = (status, nil)
            case .failure(let error):
                (details.statuses[name], details.problems[name]) = (nil, error)
            }
        }
    }
}

/// An OCSP response, or the CRLs of one file.
final class RevocationDocument: Sendable {
    private enum Content: Sendable {
        case response(OCSPResponse)
        case lists([RevocationList])
    }

    private let content: Content
    /// The signature check of one issuer.
    private struct Check: Hashable {
        let issuer: SHA256Digest
        /// The index of the CRL; 0 for a response.
        let list: Int
    }
    private let checked = Locked<[Check: Result<Void, RevocationError>]>([:])

    /// Parses the document and checks that it is not from the future.
    init(_ bytes: [UInt8], at now: Timestamp) throws(RevocationError) {
        let latest = now.advanced(by: Limits.clockSkewMilliseconds)
        if Self.isResponse(bytes.span) {
            let response = try OCSPResponse(bytes.span)
            guard Timestamp(seconds: response.producedAt) <= latest,
                response.singles.allSatisfy({ $0.status.thisUpdate <= latest })
            else { throw .fromTheFuture }
            content = .response(response)
        } else {
            var lists: [RevocationList] = []
            for der in try Self.lists(bytes) {
                let list = try RevocationList(der.span)
                guard list.thisUpdate <= latest else { throw .fromTheFuture }
                lists.append(list)
            }
            content = .lists(lists)
        }
    }

    var bytes: Int {
        switch content {
        case .response(let response): response.der.count
        case .lists(let lists): lists.reduce(0) { $0 + $1.der.count }
        }
    }

    private static func lists(_ bytes: [UInt8]) throws(RevocationError) -> [[UInt8]] {
        do throws(CertificateError) {
            return try PEMDocument.revocationLists(bytes)
        } catch {
            throw .malformed(error.description)
        }
    }

    /// Whether the bytes begin like an OCSP response: with its status.
    private static func isResponse(_ bytes: Span<UInt8>) -> Bool {
        guard let header = try? TLVHeader.decode(bytes, at: 0, rules: .der),
            header.tag == .sequence, header.size < bytes.count
        else { return false }
        return bytes[header.size] == Tag.enumerated.rawValue
    }

    /// What the document says of a certificate, with its signature checked; nil if it is not about
    /// it.
    func status(of cell: StatusCell) throws(RevocationError) -> RevocationStatus? {
        switch content {
        case .response(let response):
            guard let single = response.single(of: cell.certificate, under: cell.issuer) else {
                return nil
            }
            try check(cell.issuer) { () throws(RevocationError) in
                try response.checkSignature(by: cell.issuer)
            }
            return single.status
        case .lists(let lists):
            return try status(of: cell, in: lists)
        }
    }

    /// A list that can't be used does not spoil the others of its file.
    private func status(
        of cell: StatusCell, in lists: [RevocationList]
    ) throws(RevocationError) -> RevocationStatus? {
        var found: RevocationStatus?
        var problem: RevocationError?
        for (index, list) in lists.enumerated() where list.isNamed(after: cell.issuer) {
            do throws(RevocationError) {
                try check(cell.issuer, list: index) { () throws(RevocationError) in
                    try list.checkSignature(by: cell.issuer)
                }
            } catch {
                problem = error
                continue
            }
            let status = list.status(of: cell.certificate)
            // What is revoked stays revoked; else the newest counts.
            let isLater = found.map {
                $0.isFinal == status.isFinal
                    ? status.thisUpdate > $0.thisUpdate : status.isFinal
            }
            if isLater ?? true { found = status }
        }
        if found == nil, let problem { throw problem }
        return found
    }

    /// Checks the signature once for each issuer.
    private func check(
        _ issuer: Certificate, list: Int = 0, _ verify: () throws(RevocationError) -> Void
    ) throws(RevocationError) {
        let key = Check(issuer: issuer.fingerprint, list: list)
        if let result = checked.withLock({ $0[key] }) { return try result.get() }
        let result: Result<Void, RevocationError>
        do throws(RevocationError) {
            result = .success(try verify())
        } catch {
            result = .failure(error)
        }
        // Few issuers have one name.
        checked.withLock { $0[key] = result }
        try result.get()
    }
}
