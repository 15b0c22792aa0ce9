package assay.client;

import assay.client.model.Entitlements;
import assay.client.model.Resolution;
import java.util.List;

/**
 * The answer to a Resolve.
 *
 * @param items the outcome of each item, in order
 * @param entitlements what the valid items say together
 */
public record ResolveAnswer(List<Resolved> items, Entitlements entitlements) {
    static ResolveAnswer of(Resolution resolution, byte[] body, int count) {
        List<Resolved> items = Resolved.of(resolution.items(), body);
        if (items.size() != count) {
            throw Resolved.unfit();
        }
        return new ResolveAnswer(items, Resolved.orEmpty(resolution.entitlements()));
    }
}
