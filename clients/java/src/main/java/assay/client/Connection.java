package assay.client;

import assay.client.AssayException.Kind;
import assay.client.model.Codec;
import assay.client.model.MalformedException;
import assay.client.model.ResponseHead;
import assay.client.model.Status;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import javax.net.ssl.SSLException;

/**
 * One connection and its calls in flight. A thread connects and reads, another writes. The
 * channel's lock guards the state.
 */
final class Connection {
    /** The limit of frames that the system has not taken. Above it, calls wait. */
    private static final int UNWRITTEN_BYTES = 1 << 20;
    /** The buffer that is kept for the next frames. */
    private static final int KEPT_BYTES = 256 << 10;
    /**
     * How long after its deadline a missing answer means that the connection is lost. A server
     * answers every request, even a late one.
     */
    private static final long OVERDUE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final String NO_TLS = "the peer does not speak TLS: write tcp://HOST:PORT, or the "
            + "port of --listen tls://";

    private enum State { CONNECTING, OPEN, ENDED }

    /** A buffer whose bytes are written without a copy. */
    private static final class Output extends ByteArrayOutputStream {
        void writeTo(OutputStream out, int count) throws IOException {
            out.write(buf, 0, count);
            out.flush();
        }

        boolean isLarge() {
            return buf.length > KEPT_BYTES;
        }
    }

    final Map<Long, PendingCall<?>> inFlight = new HashMap<>();
    boolean hasAnswered;
    boolean isDraining;

    private final Channel channel;
    private final InFlightWindow window;
    private final Address address;
    private final Transport.Attempt attempt = new Transport.Attempt();
    private final Condition hasOutput;
    private volatile State state = State.CONNECTING;
    private Transport transport;
    private Output output = new Output();
    /** Counts the bytes of the output, and those that the writer has. */
    private int unwritten;
    private Future<?> timer;
    private Future<?> watch;

    Connection(Address address, Channel channel) {
        this.address = address;
        this.channel = channel;
        window = new InFlightWindow(channel.options.inFlightLimit);
        hasOutput = channel.lock.newCondition();
        long timeout = channel.options.connectTimeout.toMillis();
        timer = channel.schedule(timeout, () -> fail(new AssayException(
                Kind.CONNECT, address.text() + ": no connection within " + timeout + " ms")));
        start("reader", this::run);
    }

    private void start(String name, Runnable work) {
        Thread thread = new Thread(work, "assay-client-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends the connection, with the lock, and tells the channel. */
    private void fail(AssayException error) {
        if (state == State.ENDED) {
            return;
        }
        boolean wasConnecting = state == State.CONNECTING;
        List<PendingCall<?>> calls = end();
        if (wasConnecting) {
            channel.didFailToConnect(error);
        } else {
            channel.didEnd(this, error, calls);
        }
    }

    /** Closes the connection and returns its calls, whose fate the channel decides. */
    List<PendingCall<?>> end() {
        state = State.ENDED;
        timer.cancel(false);
        if (watch != null) {
            watch.cancel(false);
        }
        hasOutput.signal();
        try {
            attempt.close();
        } catch (IOException error) {
            // It is closed nevertheless.
        }
        List<PendingCall<?>> calls = new ArrayList<>(inFlight.values());
        inFlight.clear();
        return calls;
    }

    // ---- Sending

    boolean canSend() {
        return state == State.OPEN && inFlight.size() < window.count()
                && unwritten < UNWRITTEN_BYTES;
    }

    /** Adds the frame of a call to the output. */
    void send(PendingCall<?> call) {
        long left = TimeUnit.NANOSECONDS.toMillis(call.deadline - System.nanoTime());
        byte[] head = Codec.encode(call.head.id(call.id).timeoutMs(Math.max(1, left)).build());
        long length = FrameReader.LENGTH_BYTES + (long) head.length + call.body.length;
        int limit = channel.options.frameBytes;
        if (head.length > FrameReader.LARGEST_HEAD || length > limit) {
            call.fail(new AssayException(Kind.TOO_LARGE, "the request exceeds a frame of " + limit
                    + " bytes, or a head of " + FrameReader.LARGEST_HEAD));
            return;
        }
        output.writeBytes(
                ByteBuffer.allocate(8).putInt((int) length).putInt(head.length).array());
        output.writeBytes(head);
        output.writeBytes(call.body);
        unwritten += FrameReader.LENGTH_BYTES + (int) length;
        inFlight.put(call.id, call);
        hasOutput.signal();
    }

    /** Writes what send has added, all frames since the last time at once. */
    private void write() {
        Output spare = new Output();
        while (true) {
            Output frames;
            int count;
            channel.lock.lock();
            try {
                while (output.size() == 0 && state == State.OPEN) {
                    hasOutput.awaitUninterruptibly();
                }
                if (state != State.OPEN) {
                    return;
                }
                frames = output;
                count = frames.size();
                output = spare;
            } finally {
                channel.lock.unlock();
            }
            try {
                frames.writeTo(transport.out, count);
            } catch (IOException error) {
                // The reader finds out why: an alert or a last frame can be there to read.
                channel.schedule(1000, () -> fail(lost(error)));
                return;
            }
            spare = frames.isLarge() ? new Output() : frames;
            spare.reset();
            channel.lock.lock();
            try {
                unwritten -= count;
                channel.pump();
            } finally {
                channel.lock.unlock();
            }
        }
    }

    // ---- Receiving

    private void run() {
        try {
            transport = attempt.connect(address, channel.options);
        } catch (IOException | RuntimeException error) {
            locked(() -> fail(connectError(error)));
            return;
        }
        locked(() -> {
            if (state == State.ENDED) {
                transport.close();
                return;
            }
            timer.cancel(false);
            state = State.OPEN;
            start("writer", this::write);
            channel.didOpen(this);
        });
        FrameReader frames = new FrameReader(transport.in);
        while (state != State.ENDED) {
            try {
                FrameReader.Frame frame = frames.next();
                locked(() -> take(frame));
            } catch (MalformedException error) {
                locked(() -> fail(AssayException.protocol(error.getMessage())));
            } catch (IOException error) {
                locked(() -> fail(readError(error)));
            }
        }
    }

    private void locked(Runnable work) {
        channel.lock.lock();
        try {
            work.run();
        } finally {
            channel.lock.unlock();
        }
    }

    private AssayException connectError(Exception error) {
        String reason = String.valueOf(error.getMessage());
        // The JDK's text for bytes that are no record of TLS.
        boolean isPlain = error instanceof SSLException && reason.contains("unrecognized SSL message");
        String message = address.text() + ": " + (isPlain ? NO_TLS : reason);
        boolean isEnd = error.getCause() instanceof EOFException;
        boolean isTls = error instanceof SSLException && !isEnd;
        return new AssayException(isTls ? Kind.TLS : Kind.CONNECT, message, error);
    }

    private AssayException readError(IOException error) {
        // With TLS 1.3 a server rejects a client's certificate after the client's handshake.
        if (error instanceof SSLException && !hasAnswered
                && String.valueOf(error.getMessage()).contains("fatal alert")) {
            return new AssayException(Kind.TLS, address.text() + ": " + error.getMessage(), error);
        }
        return lost(error);
    }

    private static AssayException lost(IOException error) {
        return new AssayException(
                Kind.LOST, "the connection was lost: " + error.getMessage(), error);
    }

    /** Handles one frame. */
    private void take(FrameReader.Frame frame) {
        if (state == State.ENDED) {
            return;
        }
        ResponseHead head = frame.head();
        long id = head.id() == null ? 0 : head.id();
        if (id == 0) {
            takeNotice(head);
            return;
        }
        PendingCall<?> call = inFlight.remove(id);
        if (call == null) {
            fail(AssayException.protocol(
                    "an answer to no request: id " + Long.toUnsignedString(id)));
            return;
        }
        if (!hasAnswered) {
            hasAnswered = true;
            channel.didAnswer();
        }
        Status status = head.status() == null ? Status.OK : head.status();
        if (status == Status.OK) {
            window.grow();
        } else if (status == Status.RESOURCE_EXHAUSTED && head.retryAfterMs() != null
                && head.retryAfterMs() > 0) {
            // Without a pause, the status is about the call and not about the server's load.
            window.shrink(System.nanoTime());
        }
        if (status == Status.OK) {
            call.succeed(frame);
        } else if (status == Status.UNAVAILABLE && isDraining && channel.canRepeat(call)) {
            channel.repeat(call);
        } else {
            call.fail(AssayException.ofAnswer(head));
        }
        if (isDraining) {
            channel.closeDrained();
        }
        channel.pump();
    }

    /** Handles a frame with id 0, which applies to the whole connection. */
    private void takeNotice(ResponseHead head) {
        if (head.status() == null || head.status() == Status.OK) {
            fail(AssayException.protocol("a notice without a reason"));
        } else if (head.status() != Status.UNAVAILABLE) {
            fail(AssayException.ofNotice(head));
        } else if (!isDraining) {
            isDraining = true;
            channel.didDrain(this);
        }
    }

    boolean isAwaited() {
        return inFlight.values().stream().anyMatch(call -> !call.isAbandoned);
    }

    /** Ends the connection when an answer is missing long after its deadline. */
    void watchOverdue() {
        if (watch != null || state == State.ENDED) {
            return;
        }
        watch = channel.schedule(TimeUnit.NANOSECONDS.toMillis(OVERDUE_NANOS), () -> {
            watch = null;
            long now = System.nanoTime();
            if (inFlight.values().stream().anyMatch(call -> now - call.deadline > OVERDUE_NANOS)) {
                fail(new AssayException(Kind.LOST, "the server does not answer"));
            } else if (inFlight.values().stream().anyMatch(call -> call.isAbandoned)) {
                watchOverdue();
            }
        });
    }
}
