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
        long length = Integer.toUnsignedLong(in.readInt());
        if (length < LENGTH_BYTES || length > LARGEST_FRAME) {
            throw new MalformedException("a frame of " + length + " bytes");
        }
        long headLength = Integer.toUnsignedLong(in.readInt());
        if (headLength > length - LENGTH_BYTES) {
            throw new MalformedException("a head that is longer than its frame");
        }
        ResponseHead head = Codec.decodeResponse(read((int) headLength));
        return new Frame(head, read((int) (length - LENGTH_BYTES - headLength)));
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
