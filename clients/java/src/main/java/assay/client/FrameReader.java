package assay.client;

import assay.client.model.Codec;
import assay.client.model.MalformedException;
import assay.client.model.ResponseHead;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** Reads the frames of responses. */
final class FrameReader {
    /** The limit of a response, and the default limit of a request. */
    static final int LARGEST_FRAME = 32 << 20;
    /** The server's limit for the head of a request. */
    static final int LARGEST_HEAD = 64 << 10;
    /** A frame begins with its length, which does not count itself, and that of its head. */
    static final int LENGTH_BYTES = 4;
    private static final int BUFFER_BYTES = 64 << 10;
    /** The first four letters of an answer of HTTP/1. */
    private static final int HTTP = 0x48545450;

    /** A response. */
    record Frame(ResponseHead head, byte[] body) {}

    private final DataInputStream in;

    FrameReader(InputStream in) {
        this.in = new DataInputStream(new BufferedInputStream(in, BUFFER_BYTES));
    }

    /**
     * Returns the next frame.
     *
     * @throws MalformedException if the bytes are none
     */
    Frame next() throws IOException {
        int first = in.readInt();
        long length = Integer.toUnsignedLong(first);
        if (length < LENGTH_BYTES || length > LARGEST_FRAME) {
            String foreign = foreignProtocol(first);
            throw new MalformedException(foreign == null ? "a frame of " + length + " bytes" : foreign);
        }
        long headLength = Integer.toUnsignedLong(in.readInt());
        if (headLength > length - LENGTH_BYTES) {
            throw new MalformedException("a head that is longer than its frame");
        }
        ResponseHead head = Codec.decodeResponse(read((int) headLength));
        return new Frame(head, read((int) (length - LENGTH_BYTES - headLength)));
    }

    /**
     * Names another protocol by its first four bytes, or returns null. Read as a length, they exceed
     * the largest frame.
     */
    private static String foreignProtocol(int first) {
        if (first == HTTP) {
            return "this is HTTP: the port of --listen http://; "
                    + "a client needs that of --listen tcp://, tls:// or unix:";
        }
        // RFC 8446, section 5.1: an alert or a handshake, and the version 3.x.
        int version = first >>> 16;
        return version == 0x1503 || version == 0x1603
                ? "this is TLS: write tls://HOST:PORT as the address" : null;
    }

    /** The memory grows with what arrives, not with what is announced. */
    private byte[] read(int count) throws IOException {
        byte[] bytes = in.readNBytes(count);
        if (bytes.length < count) {
            throw new EOFException("the end within a frame");
        }
        return bytes;
    }
}
