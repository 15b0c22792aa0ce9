package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.fails;

import assay.client.model.EvidenceKind;
import assay.client.model.JWSTransactionDecodedPayload;
import assay.client.model.ResolveCall;
import assay.client.model.Verdict;
import assay.client.model.VerifyCall;
import assay.client.testing.FakeAssay;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;

/** The fake, used as a program's tests use it. */
final class FakeTests {
    private FakeTests() {}

    static Map<String, Tests.Test> all() {
        return Map.of("the fake", FakeTests::fake);
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
        fake.failWith(new AssayException(AssayException.Kind.LOST, "lost"));
        fails(CompletionException.class,
                error -> ((AssayException) error.getCause()).isRetryable(),
                () -> unlock(fake, "c"));
        equal(fake.evidence().size(), 3);
        Item item = new Item(new byte[0], EvidenceKind.TRANSACTION, "x");
        ResolveAnswer answer = new FakeAssay()
                .resolve(List.of(item), ResolveCall.builder().build()).join();
        equal(answer.items().get(0).label(), "x");
        equal(answer.entitlements().apps(), List.of());
    }
}
