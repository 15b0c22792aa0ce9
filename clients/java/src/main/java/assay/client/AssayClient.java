package assay.client;

import assay.client.model.EvidenceItem;
import assay.client.model.FetchCall;
import assay.client.model.HealthCall;
import assay.client.model.InfoCall;
import assay.client.model.PingCall;
import assay.client.model.RequestHead;
import assay.client.model.ResolveCall;
import assay.client.model.ServerInfo;
import assay.client.model.ServingStatus;
import assay.client.model.VerifyCall;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A client of one Assay server, or of several that answer alike. Many threads can use it at once:
 * their calls share one connection, and answers arrive in any order. It connects at the first call.
 */
public final class AssayClient implements AssayService {
    /** The longest timeout that a server accepts. */
    private static final Duration LONGEST_TIMEOUT = Duration.ofSeconds(30);
    /**
     * How much later than the server the client ends a call by itself. The server's answer, which
     * shows that the server was slow, then arrives first.
     */
    private static final Duration DEADLINE_GRACE = Duration.ofMillis(250);
    private static final byte[] NO_BODY = {};

    private final AssayOptions options;
    private final Channel channel;

    /** Makes a client for the addresses in the environment variable ASSAY_ADDRESS. */
    public AssayClient() {
        this(AssayOptions.defaults());
    }

    /**
     * Makes a client.
     *
     * @throws AssayException of kind ADDRESS, if an address is not one
     */
    public AssayClient(AssayOptions options) {
        this.options = options;
        channel = new Channel(
                Address.parse(options.addresses, System.getenv("ASSAY_ADDRESS")), options);
    }

    @Override
    public CompletableFuture<VerifyAnswer> verify(
            byte[] evidence, VerifyCall call, CallOptions callOptions) {
        requireNonNull(evidence, "evidence");
        requireNonNull(call, "call");
        return perform(RequestHead.builder().verify(call), evidence, callOptions, frame ->
                new VerifyAnswer(expect(frame.head().verification()), frame.body()));
    }

    @Override
    public CompletableFuture<ResolveAnswer> resolve(
            List<Item> items, ResolveCall call, CallOptions callOptions) {
        requireNonNull(items, "items");
        requireNonNull(call, "call");
        List<EvidenceItem> described = new ArrayList<>();
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (Item item : items) {
            requireNonNull(item, "items[" + described.size() + "]");
            described.add(new EvidenceItem(
                    item.kind(), (long) item.evidence().length, item.label()));
            body.writeBytes(item.evidence());
        }
        ResolveCall whole = new ResolveCall(described, call.at(), call.policy(),
                call.expectations(), call.returnTypedPayloads(), call.returnPayloadJson());
        return perform(RequestHead.builder().resolve(whole), body.toByteArray(), callOptions,
                frame -> ResolveAnswer.of(
                        expect(frame.head().resolution()), frame.body(), items.size()));
    }

    @Override
    public CompletableFuture<FetchAnswer> fetch(
            String transactionId, FetchCall call, CallOptions callOptions) {
        requireNonNull(transactionId, "transactionId");
        return fetch(transactionId, NO_BODY, call, callOptions);
    }

    @Override
    public CompletableFuture<FetchAnswer> fetchByEvidence(
            byte[] evidence, FetchCall call, CallOptions callOptions) {
        requireNonNull(evidence, "evidence");
        return fetch(null, evidence, call, callOptions);
    }

    private CompletableFuture<FetchAnswer> fetch(
            String transactionId, byte[] evidence, FetchCall call, CallOptions callOptions) {
        requireNonNull(call, "call");
        requireNonNull(callOptions, "callOptions");
        FetchCall whole = new FetchCall(transactionId, call.lists(), call.at(), call.policy(),
                call.returnTypedPayloads());
        CallOptions withTimeout = callOptions.timeout() == null
                ? callOptions.timeout(LONGEST_TIMEOUT) : callOptions;
        return perform(RequestHead.builder().fetch(whole), evidence, withTimeout, frame ->
                FetchAnswer.of(expect(frame.head().fetched()), frame.body()));
    }

    @Override
    public CompletableFuture<Boolean> health(CallOptions callOptions) {
        return perform(RequestHead.builder().health(HealthCall.builder().build()), NO_BODY,
                callOptions, frame ->
                        expect(frame.head().health()).status() == ServingStatus.SERVING);
    }

    @Override
    public CompletableFuture<ServerInfo> info(CallOptions callOptions) {
        return perform(RequestHead.builder().info(InfoCall.builder().build()), NO_BODY,
                callOptions, frame -> expect(frame.head().info()));
    }

    @Override
    public CompletableFuture<Void> ping(CallOptions callOptions) {
        return perform(RequestHead.builder().ping(PingCall.builder().build()), NO_BODY,
                callOptions, frame -> {
                    expect(frame.head().pong());
                    return null;
                });
    }

    @Override
    public void close() {
        channel.close();
    }

    /** A null that reached the connection would end the calls of others. */
    private static void requireNonNull(Object argument, String name) {
        Objects.requireNonNull(argument, () -> name + " is null");
    }

    private static <T> T expect(T result) {
        if (result == null) {
            throw AssayException.protocol("an answer to another call");
        }
        return result;
    }

    private <T> CompletableFuture<T> perform(RequestHead.Builder head, byte[] body,
            CallOptions callOptions, Function<FrameReader.Frame, T> read) {
        requireNonNull(callOptions, "callOptions");
        Duration timeout = callOptions.timeout() == null ? options.timeout : callOptions.timeout();
        if (timeout.compareTo(LONGEST_TIMEOUT) > 0) {
            timeout = LONGEST_TIMEOUT;
        }
        head.app(callOptions.app()).mayWait(callOptions.mayWait());
        PendingCall<T> call = new PendingCall<>(head, body, System.nanoTime() + timeout.toNanos(),
                callOptions.mayWait(), read, options.executor);
        channel.admit(call, timeout.plus(DEADLINE_GRACE).toMillis());
        call.future.whenComplete((answer, error) -> {
            // The caller has cancelled the future, or given it another end.
            if (!call.isAbandoned) {
                channel.abandon(call);
            }
        });
        return call.future;
    }
}
