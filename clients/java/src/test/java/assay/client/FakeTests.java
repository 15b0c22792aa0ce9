package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.fails;

import assay.client.model.Entitlements;
import assay.client.model.EvidenceKind;
import assay.client.model.FetchCall;
import assay.client.model.JWSTransactionDecodedPayload;
import assay.client.model.ResolveCall;
import assay.client.model.Status;
import assay.client.model.StoreList;
import assay.client.model.Verdict;
import assay.client.model.VerifyCall;
import assay.client.testing.FakeAssay;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;

/** The fake, used as a program's tests use it. */
final class FakeTests {
    private FakeTests() {}

    static Map<String, Tests.Test> all() {
        return Map.of("the fake", FakeTests::fake, "the fake of a fetch", FakeTests::fetch,
                "the fake of a fetch by evidence", FakeTests::fetchByEvidence);
    }

    private static String unlock(AssayService service, String token) {
        VerifyCall call = VerifyCall.builder().kind(EvidenceKind.TRANSACTION).build();
        VerifyAnswer answer = service.verify(token.getBytes(), call).join();
        return answer.verdict() == Verdict.VALID
                ? answer.verification().transaction().productId() : null;
    }

    private static void fake() {
        FakeAssay fake = new FakeAssay();
        equal(unlock(fake, "a"), null);
        fake.onVerify((evidence, call) -> FakeAssay.valid(
                JWSTransactionDecodedPayload.builder().productId("gold").build()));
        equal(unlock(fake, "b"), "gold");
        JWSTransactionDecodedPayload signed = JWSTransactionDecodedPayload.builder()
                .environment("Production").bundleId("com.example.game").transactionId("7")
                .signedDate(5L).build();
        equal(FakeAssay.valid(signed).verification().evidenceKey(),
                "Production/com.example.game/transaction/7/5");
        signed = JWSTransactionDecodedPayload.builder().transactionId("7").build();
        equal(FakeAssay.valid(signed).verification().evidenceKey(), null);
        fake.failWith(new AssayException(AssayException.Kind.LOST, "lost"));
        fails(CompletionException.class,
                error -> ((AssayException) error.getCause()).isRetryable(),
                () -> unlock(fake, "c"));
        equal(fake.evidence().size(), 3);
        Item item = new Item(new byte[0], EvidenceKind.TRANSACTION, "x");
        ResolveAnswer answer = new FakeAssay()
                .resolve(List.of(item), ResolveCall.builder().build()).join();
        equal(answer.items().get(0).label(), "x");
        equal(answer.items().get(0).isSuperseded(), false);
        equal(answer.entitlements().apps(), List.of());
    }

    private static void fetch() {
        FetchCall call = FetchCall.builder().lists(List.of(StoreList.HISTORY)).build();
        failsWith(Status.FAILED_PRECONDITION, null, () -> new FakeAssay().fetch("1", call).join());
        FakeAssay fake = new FakeAssay().onFetch((transactionId, asked) -> {
            if (!transactionId.equals("470001")) {
                throw new AssayException(Status.NOT_FOUND, "unknown", Duration.ZERO, 4040010L);
            }
            return new FetchAnswer("Sandbox", asked.lists().get(0).name(), List.of(),
                    Entitlements.builder().build());
        });
        equal(fake.fetch("470001", call).join().revision(), "HISTORY");
        failsWith(Status.NOT_FOUND, 4040010L, () -> fake.fetch("2", call).join());
    }

    private static void fetchByEvidence() {
        FetchCall call = FetchCall.builder().build();
        failsWith(Status.FAILED_PRECONDITION, null,
                () -> new FakeAssay().fetchByEvidence("token".getBytes(), call).join());
        FakeAssay fake = new FakeAssay().onFetchByEvidence((evidence, asked) -> new FetchAnswer(
                "Sandbox", new String(evidence), List.of(), Entitlements.builder().build()));
        equal(fake.fetchByEvidence("token".getBytes(), call).join().revision(), "token");
        equal(fake.evidence().size(), 1);
    }

    private static void failsWith(Status status, Long code, Tests.Test body) {
        fails(CompletionException.class, error -> {
            AssayException cause = (AssayException) error.getCause();
            return cause.status() == status && Objects.equals(cause.appStoreErrorCode(), code)
                    && !cause.isRetryable();
        }, body);
    }
}
