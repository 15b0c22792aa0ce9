package assay.client;

import java.time.Duration;

/**
 * What concerns one call.
 *
 * @param timeout how long to wait for the answer, at most 30 s; null for the client's timeout
 * @param app the name of the server's app entry, whose policy applies; null for the default entry
 * @param mayWait asks a busy server to queue the call instead of refusing it, for bulk work. The
 *     server serves such calls after all others; use a long timeout
 */
public record CallOptions(Duration timeout, String app, boolean mayWait) {
    /** The client's timeout and the server's default entry. */
    public static final CallOptions DEFAULT = new CallOptions(null, null, false);

    /** Returns options with this timeout. */
    public CallOptions timeout(Duration timeout) {
        return new CallOptions(timeout, app, mayWait);
    }

    /** Returns options with this app entry. */
    public CallOptions app(String app) {
        return new CallOptions(timeout, app, mayWait);
    }

    /** Returns options for bulk work. */
    public CallOptions mayWait(boolean mayWait) {
        return new CallOptions(timeout, app, mayWait);
    }
}
