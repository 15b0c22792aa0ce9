package assay.client;

import assay.client.model.Entitlements;
import assay.client.model.ResolvedItem;
import assay.client.model.Verdict;
import assay.client.model.Verification;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The outcome of one item of a Resolve or Fetch.
 *
 * @param label the label of the item; null for none
 * @param verification the verdict, and what is known of the evidence
 * @param payloadJson the signed JSON, if requested and the verdict is VALID; or empty
 * @param isSuperseded whether the answer is the same without the item: it can be deleted from a store
 * @param originalTransactionId what to file the item under; null, as the members below, where the
 *     item names none or several
 * @param appAccountToken a UUID that the app supplied
 * @param appTransactionId identifier of the app's download
 * @param notificationType of a notification, in Apple's spelling
 * @param subtype of a notification, in Apple's spelling
 */
public record Resolved(String label, Verification verification, byte[] payloadJson,
        boolean isSuperseded, String originalTransactionId, String appAccountToken,
        String appTransactionId, String notificationType, String subtype) {
    /** Makes the outcome of an item that names nothing. */
    public Resolved(String label, Verification verification, byte[] payloadJson) {
        this(label, verification, payloadJson, false, null, null, null, null, null);
    }

    /** Returns the verdict. Trust the evidence only if it is VALID. */
    public Verdict verdict() {
        return verification.verdict() == null ? Verdict.UNSPECIFIED : verification.verdict();
    }

    /** Gives each item its part of the body. */
    static List<Resolved> of(List<ResolvedItem> items, byte[] body) {
        List<Resolved> all = new ArrayList<>();
        int start = 0;
        for (ResolvedItem item : items) {
            long length = item.payloadJsonLength() == null ? 0 : item.payloadJsonLength();
            if (item.verification() == null || length > body.length - start) {
                throw unfit();
            }
            int end = start + (int) length;
            all.add(new Resolved(
                    item.label(), item.verification(), Arrays.copyOfRange(body, start, end),
                    item.isSuperseded(), item.originalTransactionId(), item.appAccountToken(),
                    item.appTransactionId(), item.notificationType(), item.subtype()));
            start = end;
        }
        if (start != body.length) {
            throw unfit();
        }
        return List.copyOf(all);
    }

    static Entitlements orEmpty(Entitlements entitlements) {
        return entitlements == null ? Entitlements.builder().build() : entitlements;
    }

    static AssayException unfit() {
        return AssayException.protocol("the answer does not fit its items");
    }
}
