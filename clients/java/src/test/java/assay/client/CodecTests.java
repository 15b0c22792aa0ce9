package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.fails;

import assay.client.model.Codec;
import assay.client.model.EntitlementPolicy;
import assay.client.model.Expectations;
import assay.client.model.MalformedException;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The codec's limits, addresses and errors. */
final class CodecTests {
    private CodecTests() {}

    static Map<String, Tests.Test> all() {
        Map<String, Tests.Test> tests = new LinkedHashMap<>();
        tests.put("a head has a limited number of messages", CodecTests::messages);
        tests.put("addresses", CodecTests::addresses);
        tests.put("expectations that are given and empty", CodecTests::emptyExpectations);
        tests.put("which errors are retryable", CodecTests::retryable);
        return tests;
    }

    /** A frame of empty messages could fill a hundred times its size in memory. */
    private static void messages() {
        int limit = 1 << 20;
        // The resolution counts, too.
        equal(Codec.decodeResponse(resolution(limit - 1)).resolution().items().size(), limit - 1);
        fails(MalformedException.class, error -> true,
                () -> Codec.decodeResponse(resolution(limit)));
    }

    private static byte[] resolution(int items) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(9 << 3 | 2);
        for (int length = 2 * items; ; length >>>= 7) {
            if (length < 0x80) {
                out.write(length);
                break;
            }
            out.write(length & 0x7F | 0x80);
        }
        for (int item = 0; item < items; item++) {
            out.write(1 << 3 | 2);
            out.write(0);
        }
        return out.toByteArray();
    }

    /** Gives each member of the messages null and what is empty, by its setter and the constructor. */
    private static void emptyExpectations() throws ReflectiveOperationException {
        int count = 0;
        for (RecordComponent member : Expectations.class.getRecordComponents()) {
            for (Object value : empty(member)) {
                boolean isElement = value instanceof List<?> list && !list.isEmpty();
                String name = "expectations." + member.getName() + (isElement ? "[0]" : "");
                Class<?> builder = Expectations.Builder.class;
                Method set = builder.getMethod(member.getName(), member.getType());
                refuses(name, value == null ? "null" : "empty",
                        () -> set.invoke(Expectations.builder(), value));
                count++;
            }
        }
        equal(count, 3 * 3 + 2 + 5 * 2); // lists, numbers, texts and bytes
        refuses("policy.expectedAppAccountToken", "null",
                () -> EntitlementPolicy.builder().expectedAppAccountToken(null));
        refuses("policy.expectedAppAccountToken", "empty",
                () -> EntitlementPolicy.builder().expectedAppAccountToken(""));
        refuses("policy.expectedAppAccountToken", "empty",
                () -> new EntitlementPolicy(null, null, List.of(), false, "", null, null));
        refuses("expectations.productIds[1]", "null",
                () -> Expectations.builder().productIds(Arrays.asList("gold", null)));
        refuses("expectations.appAccountToken", "empty", () -> new Expectations(
                null, List.of(), List.of(), "", null, null, null, null, null, List.of()));
        // What is absent, and what has a value.
        equal(Expectations.builder().build(), new Expectations(
                null, List.of(), List.of(), null, null, null, null, null, null, List.of()));
        equal(Expectations.builder().appAppleId(0L).productIds(List.of("gold")).build(),
                new Expectations(null, List.of(), List.of("gold"), null, null, null, null, 0L, null,
                        List.of()));
    }

    private static List<Object> empty(RecordComponent member) {
        Class<?> type = member.getType();
        Object element = member.getGenericType().getTypeName().contains("byte[]") ? new byte[0] : "";
        if (type == List.class) {
            return Arrays.asList(null, List.of(), List.of(element));
        }
        return type == Long.class ? Arrays.asList((Object) null) : Arrays.asList(null, element);
    }

    private static void refuses(String name, String what, Tests.Test test) {
        String message = name + " is " + what + ": give a value, or leave it out to accept any";
        fails(Exception.class, error -> {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            return cause instanceof IllegalArgumentException && message.equals(cause.getMessage());
        }, test);
    }

    private static void addresses() {
        for (String text : List.of("tcp://127.0.0.1:7443", "tcp://[::1]:7443",
                "tls://assay.example:1", "unix:/run/assay/assay.sock")) {
            equal(Address.parse(List.of(text), null).get(0).text(), text);
        }
        for (String text : List.of("", "127.0.0.1:7443", "http://a:1", "tcp://::1:7443", "tcp://a",
                "tcp://:1", "tcp://a:0", "tcp://a:65536", "tcp://a:x", "tcp://a/b:1", "unix:",
                "unix:@", "unix:@name", "unix:/" + "a".repeat(107))) {
            fails(AssayException.class, error -> error.kind() == AssayException.Kind.ADDRESS,
                    () -> Address.parse(List.of(text), null));
        }
        equal(Address.parse(List.of(), "unix:/a, tcp://b:1").size(), 2);
        fails(AssayException.class, error -> error.kind() == AssayException.Kind.ADDRESS,
                () -> Address.parse(List.of(), null));
    }

    private static void retryable() {
        Map<AssayException.Kind, Boolean> expected = Map.of(
                AssayException.Kind.CONNECT, true, AssayException.Kind.TLS, false,
                AssayException.Kind.LOST, true, AssayException.Kind.PROTOCOL, false,
                AssayException.Kind.DEADLINE, true, AssayException.Kind.TOO_MANY, true,
                AssayException.Kind.TOO_LARGE, false, AssayException.Kind.CLOSED, false);
        expected.forEach((kind, value) -> equal(new AssayException(kind, "").isRetryable(), value));
    }
}
