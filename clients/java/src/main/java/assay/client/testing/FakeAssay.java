package assay.client.testing;

import assay.client.AssayException;
import assay.client.AssayService;
import assay.client.CallOptions;
import assay.client.FetchAnswer;
import assay.client.Item;
import assay.client.ResolveAnswer;
import assay.client.Resolved;
import assay.client.VerifyAnswer;
import assay.client.model.Entitlements;
import assay.client.model.EvidenceKind;
import assay.client.model.FetchCall;
import assay.client.model.JWSTransactionDecodedPayload;
import assay.client.model.ResolveCall;
import assay.client.model.ServerInfo;
import assay.client.model.Status;
import assay.client.model.Verdict;
import assay.client.model.Verification;
import assay.client.model.VerifyCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * A client without a server, for the tests of programs that use one. Without functions it refuses
 * all evidence, as a server would that trusts nobody and has no key of Apple's.
 */
public final class FakeAssay implements AssayService {
    private BiFunction<byte[], VerifyCall, VerifyAnswer> onVerify =
            (evidence, call) -> refused(call.kind(), Verdict.UNTRUSTED_CHAIN);
    private BiFunction<List<Item>, ResolveCall, ResolveAnswer> onResolve =
            (items, call) -> new ResolveAnswer(
                    items.stream().map(FakeAssay::refused).toList(),
                    Entitlements.builder().build());
    private BiFunction<String, FetchCall, FetchAnswer> onFetch =
            (transactionId, call) -> isNotConfigured();
    private BiFunction<byte[], FetchCall, FetchAnswer> onFetchByEvidence =
            (evidence, call) -> isNotConfigured();
    private AssayException error;
    private boolean isServing = true;
    private final List<byte[]> evidence = new ArrayList<>();

    /** Answers verify by this function from now on. */
    public synchronized FakeAssay onVerify(
            BiFunction<byte[], VerifyCall, VerifyAnswer> function) {
        onVerify = function;
        return this;
    }

    /** Answers resolve by this function from now on. */
    public synchronized FakeAssay onResolve(
            BiFunction<List<Item>, ResolveCall, ResolveAnswer> function) {
        onResolve = function;
        return this;
    }

    /** Answers fetch by this function from now on. It can throw an AssayException. */
    public synchronized FakeAssay onFetch(
            BiFunction<String, FetchCall, FetchAnswer> function) {
        onFetch = function;
        return this;
    }

    /** Answers fetchByEvidence by this function from now on. It can throw an AssayException. */
    public synchronized FakeAssay onFetchByEvidence(
            BiFunction<byte[], FetchCall, FetchAnswer> function) {
        onFetchByEvidence = function;
        return this;
    }

    private static FetchAnswer isNotConfigured() {
        throw new AssayException(
                Status.FAILED_PRECONDITION, "Fetch is not configured", Duration.ZERO);
    }

    /** Fails every call with this exception from now on; null: no longer. */
    public synchronized FakeAssay failWith(AssayException exception) {
        error = exception;
        return this;
    }

    /** Sets what health returns. */
    public synchronized FakeAssay serving(boolean serving) {
        isServing = serving;
        return this;
    }

    /** Returns what the calls so far have sent, item by item. */
    public synchronized List<byte[]> evidence() {
        return List.copyOf(evidence);
    }

    @Override
    public synchronized CompletableFuture<VerifyAnswer> verify(
            byte[] sent, VerifyCall call, CallOptions options) {
        evidence.add(sent);
        return answer(() -> onVerify.apply(sent, call));
    }

    @Override
    public synchronized CompletableFuture<ResolveAnswer> resolve(
            List<Item> items, ResolveCall call, CallOptions options) {
        items.forEach(item -> evidence.add(item.evidence()));
        return answer(() -> onResolve.apply(items, call));
    }

    @Override
    public synchronized CompletableFuture<FetchAnswer> fetch(
            String transactionId, FetchCall call, CallOptions options) {
        return answer(() -> onFetch.apply(transactionId, call));
    }

    @Override
    public synchronized CompletableFuture<FetchAnswer> fetchByEvidence(
            byte[] sent, FetchCall call, CallOptions options) {
        evidence.add(sent);
        return answer(() -> onFetchByEvidence.apply(sent, call));
    }

    @Override
    public synchronized CompletableFuture<Boolean> health(CallOptions options) {
        return answer(() -> isServing);
    }

    @Override
    public synchronized CompletableFuture<ServerInfo> info(CallOptions options) {
        return answer(() -> ServerInfo.builder().build());
    }

    @Override
    public synchronized CompletableFuture<Void> ping(CallOptions options) {
        return answer(() -> null);
    }

    @Override
    public void close() {}

    private <T> CompletableFuture<T> answer(Supplier<T> result) {
        if (error != null) {
            return CompletableFuture.failedFuture(error);
        }
        try {
            return CompletableFuture.completedFuture(result.get());
        } catch (AssayException exception) {
            return CompletableFuture.failedFuture(exception);
        }
    }

    /** Returns the answer to a genuine transaction. */
    public static VerifyAnswer valid(JWSTransactionDecodedPayload transaction) {
        String key = transaction.environment() + "/" + transaction.bundleId() + "/"
                + purchase(transaction);
        return new VerifyAnswer(Verification.builder().verdict(Verdict.VALID)
                .kind(EvidenceKind.TRANSACTION).environment(transaction.environment())
                .dedupKey(key).evidenceKey(statement(transaction)).transaction(transaction)
                .build(), new byte[0]);
    }

    /** Names a signed state of a transaction as a server does. */
    private static String statement(JWSTransactionDecodedPayload transaction) {
        return transaction.signedDate() == null ? null
                : transaction.environment() + "/" + transaction.bundleId() + "/transaction/"
                        + transaction.transactionId() + "/" + transaction.signedDate();
    }

    /** Names the purchase of a transaction as a server does. */
    private static String purchase(JWSTransactionDecodedPayload transaction) {
        String original = transaction.originalTransactionId();
        String item = transaction.webOrderLineItemId();
        if (original == null || transaction.type() == null) {
            return transaction.transactionId();
        }
        if (transaction.type().equals("Non-Consumable")) {
            return original;
        }
        boolean isPeriod = transaction.type().equals("Auto-Renewable Subscription")
                && item != null && !item.isEmpty() && !item.equals("0");
        return isPeriod ? original + "/" + item : transaction.transactionId();
    }

    /** Returns the answer to refused evidence. */
    public static VerifyAnswer refused(EvidenceKind kind, Verdict verdict) {
        return new VerifyAnswer(Verification.builder().verdict(verdict).kind(kind)
                .detail("refused by the fake").build(), new byte[0]);
    }

    private static Resolved refused(Item item) {
        VerifyAnswer answer = refused(item.kind(), Verdict.UNTRUSTED_CHAIN);
        return new Resolved(
                item.label(), answer.verification(), answer.payloadJson());
    }
}
