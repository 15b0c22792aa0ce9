package assay.client.model;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/** Writes the fields of a protobuf message. */
final class Writer {
    private static final int VARINT = 0;
    private static final int BYTES = 2;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream(64);

    byte[] toByteArray() {
        return out.toByteArray();
    }

    void number(int field, long value) {
        varint((long) field << 3 | VARINT);
        varint(value);
    }

    void text(int field, String value) {
        bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    void bytes(int field, byte[] value) {
        varint((long) field << 3 | BYTES);
        varint(value.length);
        out.writeBytes(value);
    }

    void message(int field, Consumer<Writer> encode) {
        Writer nested = new Writer();
        encode.accept(nested);
        bytes(field, nested.toByteArray());
    }

    void packed(int field, LongStream values) {
        Writer nested = new Writer();
        values.forEach(nested::varint);
        byte[] bytes = nested.toByteArray();
        if (bytes.length > 0) {
            bytes(field, bytes);
        }
    }

    private void varint(long value) {
        while ((value & ~0x7FL) != 0) {
            out.write((int) (value & 0x7F) | 0x80);
            value >>>= 7;
        }
        out.write((int) value);
    }
}
