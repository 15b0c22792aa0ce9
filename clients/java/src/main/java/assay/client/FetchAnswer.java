package assay.client;

import assay.client.model.Entitlements;
import assay.client.model.Fetched;
import java.util.List;

/**
 * The answer to a Fetch.
 *
 * @param environment the environment that knows the customer: Production or Sandbox
 * @param revision the revision at the end of the history, if the call asked for it; or null
 * @param items the App Store's answers as evidence, all verified, in the order in which they came
 * @param entitlements what the answers say together
 */
public record FetchAnswer(
        String environment, String revision, List<Resolved> items, Entitlements entitlements) {
    static FetchAnswer of(Fetched fetched, byte[] body) {
        String environment = fetched.environment() == null ? "" : fetched.environment();
        return new FetchAnswer(environment, fetched.revision(),
                Resolved.of(fetched.items(), body), Resolved.orEmpty(fetched.entitlements()));
    }
}
