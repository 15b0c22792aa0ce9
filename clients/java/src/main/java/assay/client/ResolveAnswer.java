package assay.client;

import assay.client.model.Entitlements;
import assay.client.model.Resolution;
import assay.client.model.ResolvedItem;
import assay.client.model.Verdict;
import assay.client.model.Verification;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The answer to a Resolve.
 *
 * @param items the outcome of each item, in order
 * @param entitlements what the valid items say together
 */
public record ResolveAnswer(List<Resolved> items, Entitlements entitlements) {
    /**
     * The outcome of one item.
     *
     * @param label the label of the request; null for none
     * @param verification the verdict, and what is known of the evidence
     * @param payloadJson the signed JSON, if requested and the verdict is VALID; or empty
     */
    public record Resolved(String label, Verification verification, byte[] payloadJson) {
        /** Returns the verdict. Trust the evidence only if it is VALID. */
        public Verdict verdict() {
            return verification.verdict() == null ? Verdict.UNSPECIFIED : verification.verdict();
        }
    }

    /** Gives each item its part of the body. */
    static ResolveAnswer of(Resolution resolution, byte[] body, int count) {
        List<Resolved> items = new ArrayList<>();
        int start = 0;
        for (ResolvedItem item : resolution.items()) {
            long length = item.payloadJsonLength() == null ? 0 : item.payloadJsonLength();
            if (item.verification() == null || length > body.length - start) {
                throw AssayException.protocol("the answer does not fit its items");
            }
            int end = start + (int) length;
            items.add(new Resolved(
                    item.label(), item.verification(), Arrays.copyOfRange(body, start, end)));
            start = end;
        }
        if (items.size() != count || start != body.length) {
            throw AssayException.protocol("the answer does not fit its items");
        }
        Entitlements entitlements = resolution.entitlements();
        return new ResolveAnswer(List.copyOf(items),
                entitlements == null ? Entitlements.builder().build() : entitlements);
    }
}
