import Assay
import AssayBytes

extension FuzzTarget {
    /// The inspection of any bytes. Invariant: its output is JSON, and says that nothing is
    /// verified.
    static func inspection(_ authority: FuzzAuthority) -> FuzzTarget {
        let seeds = [token(authority), receipt(authority), transactionReceipt(authority)]
            .flatMap { $0.seeds.prefix(8) }
        return FuzzTarget("Inspection", seeds: seeds + FuzzSamples.json) { bytes in
            let json = Inspection(bytes).json
            guard let document = try? JSONDocument.parse(json, limit: .max, depth: 256) else {
                preconditionFailure("the inspection is not JSON")
            }
            precondition(document.root["verified"]?.kind == .false, "it seems to be verified")
        }
    }
}
