package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.fails;

import assay.client.model.Codec;
import assay.client.model.MalformedException;
import java.io.ByteArrayOutputStream;
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
