package assay.client.model;

/** Bytes that are no message. */
public final class MalformedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Makes an exception. */
    public MalformedException(String message) {
        super(message);
    }
}
