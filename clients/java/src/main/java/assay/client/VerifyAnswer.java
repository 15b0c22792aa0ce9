package assay.client;

import assay.client.model.Verdict;
import assay.client.model.Verification;

/**
 * The answer to a Verify.
 *
 * @param verification the verdict, and what is known of the evidence
 * @param payloadJson the signed JSON, if the call requested it and the verdict is VALID; or empty
 */
public record VerifyAnswer(Verification verification, byte[] payloadJson) {
    /** Returns the verdict. Trust the evidence only if it is VALID. */
    public Verdict verdict() {
        return verification.verdict() == null ? Verdict.UNSPECIFIED : verification.verdict();
    }
}
