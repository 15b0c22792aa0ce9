package assay.client;

import java.util.concurrent.TimeUnit;

/**
 * How many calls a connection has in flight. It learns how many the server can take, as TCP does: it
 * shrinks by a quarter when the server refuses calls because of its load, and grows by one with each
 * window of answers. A refusal costs the server a part of an answer; a call that waits in the client
 * costs it nothing.
 */
final class InFlightWindow {
    /** Of the refusals of one turn of the server's queue, one counts. */
    private static final long SHRINK_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** One batch of signatures. */
    private static final double SMALLEST = 8;

    private final double limit;
    private double size;
    private boolean hasShrunk;
    private long shrunkAt;

    InFlightWindow(int limit) {
        this.limit = limit;
        size = limit;
    }

    int count() {
        return (int) size;
    }

    void grow() {
        size = Math.min(limit, size + 1 / size);
    }

    void shrink(long nanoseconds) {
        if (hasShrunk && nanoseconds - shrunkAt < SHRINK_PAUSE_NANOS) {
            return;
        }
        hasShrunk = true;
        shrunkAt = nanoseconds;
        size = Math.min(limit, Math.max(SMALLEST, size * 0.75));
    }
}
