package assay.client;

import assay.client.model.ResponseHead;
import assay.client.model.Status;
import java.time.Duration;

/** Why a call has no answer. A refused purchase is an answer, not an exception. */
public final class AssayException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The kinds of errors. */
    public enum Kind {
        /** An address is not one. */
        ADDRESS(false),
        /** There is no connection to any of the addresses. */
        CONNECT(true),
        /** The handshake failed at all addresses. */
        TLS(false),
        /** The connection ended before the answer, and so did that of the retry. */
        LOST(true),
        /** The deadline passed. */
        DEADLINE(true),
        /** The server could not perform the call. The exception has its status. */
        STATUS(false),
        /** The peer does not follow the protocol. */
        PROTOCOL(false),
        /** The client was closed. */
        CLOSED(false),
        /** The request exceeds the limit of a frame or of a head. */
        TOO_LARGE(false),
        /** Too many calls wait, or this one has waited for the longest wait. */
        TOO_MANY(true);

        private final boolean isRetryable;

        Kind(boolean isRetryable) {
            this.isRetryable = isRetryable;
        }
    }

    private final Kind kind;
    private final Status status;
    private final Duration retryAfter;
    private final Long appStoreErrorCode;

    /** Makes an exception without a status. */
    public AssayException(Kind kind, String message) {
        this(kind, message, null, null, Duration.ZERO, null);
    }

    AssayException(Kind kind, String message, Throwable cause) {
        this(kind, message, cause, null, Duration.ZERO, null);
    }

    /** Makes an exception of kind STATUS. */
    public AssayException(Status status, String message, Duration retryAfter) {
        this(status, message, retryAfter, null);
    }

    /** Makes an exception of kind STATUS with Apple's reason; null if Apple gave none. */
    public AssayException(
            Status status, String message, Duration retryAfter, Long appStoreErrorCode) {
        this(Kind.STATUS, status + ": " + message, null, status, retryAfter, appStoreErrorCode);
    }

    private AssayException(Kind kind, String message, Throwable cause, Status status,
            Duration retryAfter, Long appStoreErrorCode) {
        super(message, cause);
        this.kind = kind;
        this.status = status;
        this.retryAfter = retryAfter;
        this.appStoreErrorCode = appStoreErrorCode;
    }

    /** Returns the exception of a frame whose status is not OK. */
    static AssayException ofNotice(ResponseHead head) {
        long pause = head.retryAfterMs() == null ? 0 : head.retryAfterMs();
        String message = head.message() == null ? "no reason given" : head.message();
        return new AssayException(
                head.status(), message, Duration.ofMillis(pause), head.appStoreErrorCode());
    }

    /** Returns the exception of an answer whose status is not OK. */
    static AssayException ofAnswer(ResponseHead head) {
        if (head.status() == Status.DEADLINE_EXCEEDED) {
            return new AssayException(Kind.DEADLINE, "the deadline passed: " + head.message());
        }
        return ofNotice(head);
    }

    static AssayException protocol(String problem) {
        return new AssayException(Kind.PROTOCOL, "the peer is not an Assay server: " + problem);
    }

    /** Returns the kind of the error. */
    public Kind kind() {
        return kind;
    }

    /** Returns the server's status if the kind is STATUS, and otherwise null. */
    public Status status() {
        return status;
    }

    /** Returns the delay before a retry that the server asks for; zero if it named none. */
    public Duration retryAfter() {
        return retryAfter;
    }

    /**
     * Returns Apple's errorCode, where the App Store refused a Fetch: 4040010 for an unknown
     * transaction; null if there is none.
     */
    public Long appStoreErrorCode() {
        return appStoreErrorCode;
    }

    /** Returns whether the same call can succeed later without a change. All calls may repeat. */
    public boolean isRetryable() {
        if (kind == Kind.STATUS) {
            return !retryAfter.isZero() || status == Status.UNAVAILABLE;
        }
        return kind.isRetryable;
    }
}
