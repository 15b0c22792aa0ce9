import Assay
import AssayAdmin
import AssayBytes
import AssayModels

extension FuzzTarget {
    /// The explanation of any bytes. Invariants: its verdict is the verifier's; exactly a refusal
    /// has a failed check, which can give that verdict; nothing of a refusal counts as verified;
    /// its JSON is JSON, and its page has no other markup than its own.
    static func explanation(_ authority: FuzzAuthority) -> FuzzTarget {
        let verifier = Verifier(trust: authority.trust, keyTables: .never)
        let seeds = [
            token(authority), receipt(authority), transactionReceipt(authority),
            serverAnswer(authority), notificationV1(authority),
        ].flatMap { $0.seeds.prefix(6) }
        return FuzzTarget("Explanation", seeds: seeds) { bytes in
            let kind = Verifier.likelyKind(of: bytes)
            let explanation = Explanation(
                bytes, as: kind, trust: authority.trust, policy: FuzzAuthority.policy,
                at: FuzzAuthority.now)
            let verification = explanation.verification
            if let kind {
                let answer = verifier.verify(
                    bytes, as: kind, policy: FuzzAuthority.policy, at: FuzzAuthority.now)
                precondition(answer.verdict == verification.verdict, "another verdict")
                precondition(answer.detail == verification.detail, "another detail")
            }
            if let failed = explanation.failed {
                precondition(
                    failed.step.check.verdicts.contains(verification.verdict),
                    "\(failed.step.check) gives \(verification.verdict)")
                precondition(explanation.contents.allSatisfy { !$0.isVerified })
            }
            precondition((explanation.failed == nil) == explanation.isVerified)
            let page = ExplanationSet(
                [.init(label: "<script>", evidence: bytes.array)], as: kind,
                trust: authority.trust, policy: FuzzAuthority.policy, at: FuzzAuthority.now
            ).html
            precondition(!page.contains("<script"), "markup that is not escaped")
            let json = explanation.json(next: explanation.remedies)
            guard (try? JSONDocument.parse(json, limit: .max, depth: 256)) != nil
            else { preconditionFailure("the explanation is not JSON") }
        }
    }

    /// A form of the page `/explain`. Invariant: each part lies within the body, after those
    /// before it.
    static var form: FuzzTarget {
        let text = "multipart/form-data; boundary=xyz"
        let part = "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
        let seeds = [part + "b\r\n--xyz--\r\n", part + "b\r\n" + part + "\r\n--xyz--", "--xyz--"]
        return FuzzTarget(
            "Form", seeds: seeds.map { Array($0.utf8) },
            words: ["--xyz", "\r\n", "\r\n\r\n", "Content-Disposition: ", "; name=\"", "\"", "--"]
        ) { bytes in
            guard let form = try? MultipartForm(bytes, contentType: text) else { return }
            var end = 0
            for part in form.parts {
                precondition(part.content.lowerBound >= end, "a part that begins before another")
                end = part.content.upperBound
            }
            precondition(end <= bytes.count)
        }
    }
}
