package assay.client;

import assay.client.model.RequestHead;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;

/** One call, and the future of its caller. The channel's lock guards it. */
final class PendingCall<T> {
    final RequestHead.Builder head;
    final CompletableFuture<T> future = new CompletableFuture<>();
    /** In nanoseconds of System.nanoTime. */
    final long deadline;
    byte[] body;
    long id;
    Future<?> timer;
    /** When it began to wait for a free slot on the connection, in nanoseconds. */
    long queuedAt;
    /** Whether it waits until its deadline. */
    final boolean mayWait;
    /** Whether the call has been on a connection that was lost or drained. */
    boolean wasRepeated;
    /** Whether nobody waits any more. If the call was sent, the server still answers it. */
    volatile boolean isAbandoned;

    private final Function<FrameReader.Frame, T> read;
    private final Executor executor;

    PendingCall(RequestHead.Builder head, byte[] body, long deadline, boolean mayWait,
            Function<FrameReader.Frame, T> read, Executor executor) {
        this.head = head;
        this.body = body;
        this.deadline = deadline;
        this.mayWait = mayWait;
        this.read = read;
        this.executor = executor;
    }

    void succeed(FrameReader.Frame frame) {
        end(() -> {
            try {
                future.complete(read.apply(frame));
            } catch (AssayException error) {
                future.completeExceptionally(error);
            }
        });
    }

    void fail(AssayException error) {
        end(() -> future.completeExceptionally(error));
    }

    /** Completes the future elsewhere: what depends on it may block, or call the client. */
    private void end(Runnable completion) {
        if (isAbandoned) {
            return;
        }
        isAbandoned = true;
        body = null;
        if (timer != null) {
            timer.cancel(false);
        }
        try {
            executor.execute(completion);
        } catch (RejectedExecutionException error) {
            completion.run();
        }
    }
}
