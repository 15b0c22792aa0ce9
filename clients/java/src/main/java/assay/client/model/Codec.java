package assay.client.model;

/** The encoding of heads, for the client and its tests. */
public final class Codec {
    private Codec() {}

    /** Returns the encoding of a request's head. */
    public static byte[] encode(RequestHead head) {
        Writer out = new Writer();
        head.encode(out);
        return out.toByteArray();
    }

    /** Returns the encoding of a response's head. */
    public static byte[] encode(ResponseHead head) {
        Writer out = new Writer();
        head.encode(out);
        return out.toByteArray();
    }

    /**
     * Returns the head of a response.
     *
     * @throws MalformedException if the bytes are none
     */
    public static ResponseHead decodeResponse(byte[] bytes) {
        return ResponseHead.decode(new Reader(bytes));
    }

    /**
     * Returns the head of a request.
     *
     * @throws MalformedException if the bytes are none
     */
    public static RequestHead decodeRequest(byte[] bytes) {
        return RequestHead.decode(new Reader(bytes));
    }
}
