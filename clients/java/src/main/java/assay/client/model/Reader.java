package assay.client.model;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongConsumer;

/** Reads the fields of a protobuf message, one after the other. */
final class Reader {
    /**
     * Limits the nested messages of one head. Each takes a hundred times the two bytes that an
     * empty one takes on the wire, so a frame of 32 MiB could fill gigabytes. The receipts with the
     * most records have some hundred thousand.
     */
    static final int MESSAGES_PER_HEAD = 1 << 20;

    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;
    private static final int FIXED32 = 5;

    private final byte[] data;
    private final int end;
    /** The messages so far of the whole head. */
    private final int[] messages;
    private int position;
    private int field;
    private int wire;

    Reader(byte[] data) {
        this(data, 0, data.length, new int[1]);
    }

    private Reader(byte[] data, int start, int end, int[] messages) {
        this.data = data;
        this.position = start;
        this.end = end;
        this.messages = messages;
    }

    /** Reads the next field's number. Returns false at the end. */
    boolean next() {
        if (position == end) {
            return false;
        }
        long tag = varint();
        field = (int) (tag >>> 3);
        wire = (int) tag & 7;
        if (field == 0 || tag >>> 32 != 0) {
            throw new MalformedException("a field number out of range");
        }
        return true;
    }

    int field() {
        return field;
    }

    void skip() {
        switch (wire) {
            case VARINT -> varint();
            case FIXED64 -> take(8);
            case BYTES -> take(varint());
            case FIXED32 -> take(4);
            default -> throw new MalformedException("a field of wire type " + wire);
        }
    }

    long number() {
        expect(VARINT);
        return varint();
    }

    byte[] bytes() {
        expect(BYTES);
        int start = take(varint());
        return Arrays.copyOfRange(data, start, position);
    }

    String text() {
        expect(BYTES);
        int start = take(varint());
        // Most texts are ASCII, for which the decoder's error handling is not needed.
        for (int index = start; index < position; index++) {
            if (data[index] < 0) {
                return decode(start);
            }
        }
        return new String(data, start, position - start, StandardCharsets.ISO_8859_1);
    }

    private String decode(int start) {
        try {
            return StandardCharsets.UTF_8.newDecoder()
                    .decode(ByteBuffer.wrap(data, start, position - start)).toString();
        } catch (CharacterCodingException error) {
            throw new MalformedException("text that is not UTF-8");
        }
    }

    Reader message() {
        expect(BYTES);
        if (++messages[0] > MESSAGES_PER_HEAD) {
            throw new MalformedException("too many messages in one head");
        }
        int start = take(varint());
        return new Reader(data, start, position, messages);
    }

    /** Reads a repeated number: one, or the bytes of many. */
    void packed(LongConsumer each) {
        if (wire == VARINT) {
            each.accept(varint());
            return;
        }
        expect(BYTES);
        int start = take(varint());
        Reader numbers = new Reader(data, start, position, messages);
        while (numbers.position < numbers.end) {
            each.accept(numbers.varint());
        }
    }

    private void expect(int expected) {
        if (wire != expected) {
            throw new MalformedException("field " + field + " has the wrong wire type");
        }
    }

    /** Goes over some bytes, and returns where they start. */
    private int take(long length) {
        if (length < 0 || length > end - position) {
            throw new MalformedException("a field longer than its message");
        }
        int start = position;
        position += (int) length;
        return start;
    }

    private long varint() {
        long value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            if (position == end) {
                throw new MalformedException("a number that is cut off");
            }
            byte octet = data[position++];
            if (shift == 63 && (octet & 0xFF) > 1) {
                break;
            }
            value |= (long) (octet & 0x7F) << shift;
            if (octet >= 0) {
                return value;
            }
        }
        throw new MalformedException("a number of more than 64 bits");
    }
}
