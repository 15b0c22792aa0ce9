package assay.client;

import assay.client.model.FetchCall;
import assay.client.model.ResolveCall;
import assay.client.model.ServerInfo;
import assay.client.model.VerifyCall;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a client does; {@link assay.client.testing.FakeAssay} does it without a server. A future
 * that fails has an {@link AssayException}. To cancel a future abandons its call.
 */
public interface AssayService extends AutoCloseable {
    /**
     * Verifies evidence: the bytes that the app or Apple sent. A refusal is an answer, not an
     * exception: check the verdict.
     */
    CompletableFuture<VerifyAnswer> verify(byte[] evidence, VerifyCall call, CallOptions options);

    /** Verifies evidence with default options. */
    default CompletableFuture<VerifyAnswer> verify(byte[] evidence, VerifyCall call) {
        return verify(evidence, call, CallOptions.DEFAULT);
    }

    /**
     * Verifies items of evidence, and returns what the customer owns. A refused item is an answer,
     * not an exception: check its verdict. The client sets the items of the call.
     */
    CompletableFuture<ResolveAnswer> resolve(
            List<Item> items, ResolveCall call, CallOptions options);

    /** Verifies items of evidence with default options. */
    default CompletableFuture<ResolveAnswer> resolve(List<Item> items, ResolveCall call) {
        return resolve(items, call, CallOptions.DEFAULT);
    }

    /**
     * Asks the App Store for a customer's purchases, and returns what the customer owns. The server
     * needs a key of Apple's for this. {@link AssayException#appStoreErrorCode} is Apple's own
     * reason for a refusal. Apple takes its time: the timeout is 30 s, if absent. The client sets
     * the transaction of the call.
     *
     * @param transactionId the identifier of any transaction of the customer
     */
    CompletableFuture<FetchAnswer> fetch(
            String transactionId, FetchCall call, CallOptions options);

    /** Asks the App Store with default options. */
    default CompletableFuture<FetchAnswer> fetch(String transactionId, FetchCall call) {
        return fetch(transactionId, call, CallOptions.DEFAULT);
    }

    /**
     * Asks the App Store for the purchases of the customer whom a token, a notification or a
     * receipt names: the newest transaction in it counts. It is at most 1 MiB. The server does not
     * verify it, but each answer of the App Store. The client clears the transaction of the call.
     */
    CompletableFuture<FetchAnswer> fetchByEvidence(
            byte[] evidence, FetchCall call, CallOptions options);

    /** Asks the App Store by evidence, with default options. */
    default CompletableFuture<FetchAnswer> fetchByEvidence(byte[] evidence, FetchCall call) {
        return fetchByEvidence(evidence, call, CallOptions.DEFAULT);
    }

    /** Returns whether the server is serving. */
    CompletableFuture<Boolean> health(CallOptions options);

    /** Returns the server's version, kinds, limits and roots. */
    CompletableFuture<ServerInfo> info(CallOptions options);

    /** Completes when the server has answered. */
    CompletableFuture<Void> ping(CallOptions options);

    /** Ends the connections. Outstanding and later calls fail with kind CLOSED. */
    @Override
    void close();
}
