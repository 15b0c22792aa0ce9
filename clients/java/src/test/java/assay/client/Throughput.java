package assay.client;

import assay.client.model.EvidenceKind;
import assay.client.model.Verdict;
import assay.client.model.VerifyCall;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** Measures verifications a second; see conformance/README.md. */
public final class Throughput {
    private final AssayClient client;
    private final byte[] token;
    private final int inFlight;
    private final VerifyCall call;
    private final AtomicReference<String> failure = new AtomicReference<>();

    private Throughput(AssayClient client, byte[] token, int inFlight, VerifyCall call) {
        this.client = client;
        this.token = token;
        this.inFlight = inFlight;
        this.call = call;
    }

    /** Arguments: ADDRESS FILE CALLS IN-FLIGHT typed|bare. */
    public static void main(String[] arguments) throws Exception {
        AssayOptions options = AssayOptions.of(arguments[0]).timeout(Duration.ofSeconds(30))
                .inFlightLimit(Integer.parseInt(arguments[3]));
        int calls = Integer.parseInt(arguments[2]);
        VerifyCall call = VerifyCall.builder().kind(EvidenceKind.TRANSACTION)
                .omitTypedPayload(arguments[4].equals("bare")).build();
        try (AssayClient client = new AssayClient(options)) {
            Throughput load = new Throughput(client, Files.readAllBytes(Path.of(arguments[1])),
                    Integer.parseInt(arguments[3]), call);
            load.perform(calls / 4);
            long start = System.nanoTime();
            load.perform(calls);
            System.out.printf(Locale.ROOT, "{\"answers\": %d, \"seconds\": %f}%n", calls,
                    (System.nanoTime() - start) / 1e9);
        }
    }

    private void perform(int calls) throws InterruptedException {
        Semaphore free = new Semaphore(inFlight);
        for (int n = 0; n < calls && failure.get() == null; n++) {
            free.acquire();
            client.verify(token, call, CallOptions.DEFAULT.mayWait(true))
                    .whenComplete((answer, error) -> {
                        if (error != null) {
                            failure.set(error.toString());
                        } else if (answer.verdict() != Verdict.VALID) {
                            failure.set(answer.verdict() + ": " + answer.verification().detail());
                        }
                        free.release();
                    });
        }
        free.acquire(inFlight);
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
    }
}
