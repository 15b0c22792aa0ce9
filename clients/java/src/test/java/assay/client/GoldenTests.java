package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.expect;

import assay.client.model.Codec;
import assay.client.model.MalformedException;
import assay.client.model.RequestHead;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Compares the codec with the golden frames of the conformance suite. */
final class GoldenTests {
    private GoldenTests() {}

    static Map<String, Tests.Test> all() {
        String variable = System.getenv("ASSAY_GOLDEN");
        Path folder = Path.of(variable == null ? "../../conformance/golden" : variable);
        if (!Files.isDirectory(folder)) {
            System.out.println("skipped: the golden frames are missing");
            return Map.of();
        }
        Map<String, Tests.Test> tests = new LinkedHashMap<>();
        for (Map<String, Object> line : lines(folder.resolve("requests.jsonl"))) {
            tests.put("request: " + line.get("name"), () -> request(line));
        }
        for (Map<String, Object> line : lines(folder.resolve("responses.jsonl"))) {
            tests.put("response: " + line.get("name"), () -> response(line));
        }
        for (Map<String, Object> line : lines(folder.resolve("responses.jsonl"))) {
            tests.put("changed: " + line.get("name"), () -> changed(line));
        }
        for (Map<String, Object> line : lines(folder.resolve("broken.jsonl"))) {
            tests.put("broken: " + line.get("name"), () -> broken(line));
        }
        expect(tests.size() > 100, tests.size() + " golden frames only");
        return tests;
    }

    private static List<Map<String, Object>> lines(Path file) {
        try {
            return Files.readAllLines(file).stream().map(Json::parse).map(Json::object).toList();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static byte[] hex(Object text) {
        return HexFormat.of().parseHex((String) text);
    }

    private static void request(Map<String, Object> line) {
        byte[] frame = hex(line.get("frame"));
        byte[] encoded = Arrays.copyOfRange(frame, 8, frame.length - hex(line.get("body")).length);
        RequestHead head = Codec.decodeRequest(encoded);
        same(head, line.get("head"), "head");
        if (Boolean.TRUE.equals(line.get("canonical"))) {
            equal(HexFormat.of().formatHex(Codec.encode(head)), HexFormat.of().formatHex(encoded));
        }
    }

    private static void response(Map<String, Object> line) throws IOException {
        byte[] bytes = hex(line.get("frame"));
        FrameReader.Frame frame = new FrameReader(new ByteArrayInputStream(bytes)).next();
        same(frame.head(), line.get("head"), "head");
        equal(HexFormat.of().formatHex(frame.body()), line.get("body"));
    }

    /** A changed frame is decoded or refused; any other exception fails the test. */
    private static void changed(Map<String, Object> line) {
        byte[] bytes = hex(line.get("frame"));
        // Long frames have more of the same fields.
        for (int index = 4; index < Math.min(bytes.length, 400); index++) {
            for (int change : new int[] {0x01, 0x80, 0xFF}) {
                byte[] changed = bytes.clone();
                changed[index] ^= (byte) change;
                try {
                    new FrameReader(new ByteArrayInputStream(changed)).next();
                } catch (MalformedException | IOException error) {
                    // Refused, or the end comes too early.
                }
            }
        }
    }

    private static void broken(Map<String, Object> line) {
        Tests.fails(MalformedException.class, error -> true, () ->
                new FrameReader(new ByteArrayInputStream(hex(line.get("frame")))).next());
    }

    /** Compares a message with its form in protobuf's JSON. What is false counts as absent. */
    private static void same(Record message, Object expected, String path) {
        Map<String, Object> members = new LinkedHashMap<>(Json.object(expected));
        for (RecordComponent component : message.getClass().getRecordComponents()) {
            String name = component.getName();
            Object actual = member(message, component);
            Object wanted = members.remove(name);
            if (component.getType() == boolean.class) {
                wanted = Boolean.TRUE.equals(wanted);
            } else if (List.of().equals(actual)) {
                actual = null;
            }
            sameValue(actual, wanted, path + "." + name);
        }
        expect(members.isEmpty(), path + " lacks " + members.keySet());
    }

    private static void sameValue(Object actual, Object wanted, String path) {
        if (actual instanceof Record message && wanted != null) {
            same(message, wanted, path);
        } else if (actual instanceof List<?> elements) {
            List<Object> all = Json.list(wanted);
            expect(elements.size() == all.size(), path + ": " + elements.size());
            for (int index = 0; index < all.size(); index++) {
                sameValue(elements.get(index), all.get(index), path + "[" + index + "]");
            }
        } else {
            Object text = wanted == null ? null : wanted.toString();
            // An enumeration's number without a name is a number in JSON.
            boolean isUnknown = actual instanceof Enum<?> && wanted instanceof Long;
            Object expected = isUnknown ? "UNRECOGNIZED" : text;
            expect(Objects.equals(text(actual, path), expected), path + ": " + actual);
        }
    }

    private static String text(Object value, String path) {
        if (value instanceof byte[] bytes) {
            return Base64.getEncoder().encodeToString(bytes);
        }
        if (value instanceof Enum<?> constant && !constant.name().equals("UNRECOGNIZED")) {
            return constant.getClass().getSimpleName()
                    .replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase() + "_" + constant;
        }
        // The only number above 63 bits.
        if (value instanceof Long number && path.equals("head.id")) {
            return Long.toUnsignedString(number);
        }
        return value == null ? null : value.toString();
    }

    private static Object member(Record message, RecordComponent component) {
        try {
            return component.getAccessor().invoke(message);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
