package assay.client;

import assay.client.AssayException.Kind;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** The connection to one of the servers, its replacement after a loss, and the waiting calls. */
final class Channel {
    /** How many times in the longest wait the channel looks for calls that have waited longer. */
    private static final int LOOKS_PER_WAIT = 10;

    /** Guards the state of the channel, its connections and its calls. */
    final ReentrantLock lock = new ReentrantLock();
    final AssayOptions options;

    private final List<Address> addresses;
    private final ScheduledThreadPoolExecutor timers;
    /** The calls that are on no connection, in order, by their id. */
    private Map<Long, PendingCall<?>> waiting = new LinkedHashMap<>();
    private final Set<Connection> draining = new LinkedHashSet<>();
    private Connection connecting;
    private Connection current;
    private boolean isClosed;
    private long lastId;

    // About the next connection.
    private int next;
    /** Those since an answer, or since all addresses had failed. */
    private List<AssayException> failures = new ArrayList<>();
    private int rounds;
    /** In nanoseconds of System.nanoTime. */
    private long notUntil = System.nanoTime();
    private Future<?> pause;
    /** Since when there is a connection, in nanoseconds of System.nanoTime. */
    private long openedAt = System.nanoTime();
    /** The timer of calls that wait for a free slot on the connection. */
    private Future<?> waitTimer;

    Channel(List<Address> addresses, AssayOptions options) {
        this.addresses = addresses;
        this.options = options;
        timers = new ScheduledThreadPoolExecutor(1, work -> {
            Thread thread = new Thread(work, "assay-client-timer");
            thread.setDaemon(true);
            return thread;
        });
        timers.setRemoveOnCancelPolicy(true);
        timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        // A writer whose connection the close ended still asks for a timer.
        timers.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    }

    /** Does work later, with the lock. */
    Future<?> schedule(long milliseconds, Runnable work) {
        return timers.schedule(() -> {
            lock.lock();
            try {
                if (!isClosed) {
                    work.run();
                }
            } finally {
                lock.unlock();
            }
        }, milliseconds, TimeUnit.MILLISECONDS);
    }

    // ---- Calls

    /** Takes a call to the connection, or to the queue. */
    void admit(PendingCall<?> call, long timeoutMillis) {
        lock.lock();
        try {
            if (isClosed) {
                call.fail(new AssayException(Kind.CLOSED, "the client is closed"));
                return;
            }
            call.timer = schedule(timeoutMillis, () -> {
                call.fail(new AssayException(
                        Kind.DEADLINE, "the deadline passed without an answer"));
                forget(call);
            });
            call.id = ++lastId;
            putLast(call);
            pump();
            if (waiting.size() > options.waitingLimit && waiting.remove(call.id) != null) {
                call.fail(tooMany());
            }
        } finally {
            lock.unlock();
        }
    }

    /** Forgets a call whose caller has cancelled or completed its future. */
    void abandon(PendingCall<?> call) {
        lock.lock();
        try {
            if (!call.isAbandoned) {
                call.isAbandoned = true;
                call.body = null;
                call.timer.cancel(false);
                forget(call);
            }
        } finally {
            lock.unlock();
        }
    }

    private void forget(PendingCall<?> call) {
        if (waiting.remove(call.id) != null) {
            return;
        }
        for (Connection connection : connections()) {
            if (connection.inFlight.get(call.id) == call) {
                connection.watchOverdue();
            }
        }
        closeDrained();
    }

    boolean canRepeat(PendingCall<?> call) {
        return options.retriesOnce && !call.wasRepeated && !call.isAbandoned;
    }

    void repeat(PendingCall<?> call) {
        call.wasRepeated = true;
        putLast(call);
        pump();
    }

    private void putLast(PendingCall<?> call) {
        call.queuedAt = System.nanoTime();
        waiting.put(call.id, call);
    }

    /** Puts calls that were sent already before the others. */
    private void putFirst(List<PendingCall<?>> calls) {
        if (calls.isEmpty()) {
            return;
        }
        Map<Long, PendingCall<?>> all = new LinkedHashMap<>();
        for (PendingCall<?> call : calls) {
            call.queuedAt = System.nanoTime();
            all.put(call.id, call);
        }
        all.putAll(waiting);
        waiting = all;
    }

    private List<PendingCall<?>> takeWaiting() {
        List<PendingCall<?>> calls = new ArrayList<>(waiting.values());
        waiting.clear();
        return calls;
    }

    /** Moves waiting calls to the connection, and connects if there is none. */
    void pump() {
        if (current != null) {
            while (!waiting.isEmpty() && current.canSend()) {
                Iterator<PendingCall<?>> first = waiting.values().iterator();
                PendingCall<?> call = first.next();
                first.remove();
                if (hasWaitedTooLong(call)) {
                    call.fail(tooMany());
                } else {
                    current.send(call);
                }
            }
            if (!waiting.isEmpty()) {
                watchWaiting();
            }
            return;
        }
        if (isClosed || connecting != null || pause != null || waiting.isEmpty()) {
            return;
        }
        long left = notUntil - System.nanoTime();
        if (left <= 0) {
            connecting = new Connection(addresses.get(next), this);
            return;
        }
        pause = schedule(TimeUnit.NANOSECONDS.toMillis(left) + 1, () -> {
            pause = null;
            pump();
        });
    }

    /** Time without a connection does not count, and bulk work can wait until its deadline. */
    private boolean hasWaitedTooLong(PendingCall<?> call) {
        long now = System.nanoTime();
        long waited = Math.min(now - call.queuedAt, now - openedAt);
        return !call.mayWait && waited > options.longestWait.toNanos();
    }

    /** Ends calls that have waited too long, also while the server answers nothing. */
    private void watchWaiting() {
        if (waitTimer != null) {
            return;
        }
        waitTimer = schedule(options.longestWait.toMillis() / LOOKS_PER_WAIT + 1, () -> {
            waitTimer = null;
            if (current == null) {
                return;
            }
            Iterator<PendingCall<?>> calls = waiting.values().iterator();
            while (calls.hasNext()) {
                PendingCall<?> call = calls.next();
                if (hasWaitedTooLong(call)) {
                    calls.remove();
                    call.fail(tooMany());
                } else if (!call.mayWait) {
                    break;
                }
            }
            pump();
        });
    }

    private static AssayException tooMany() {
        return new AssayException(Kind.TOO_MANY, "too many calls wait for the server");
    }

    void close() {
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            isClosed = true;
            List<PendingCall<?>> calls = takeWaiting();
            for (Connection connection : connections()) {
                calls.addAll(connection.end());
            }
            for (PendingCall<?> call : calls) {
                call.fail(new AssayException(Kind.CLOSED, "the client is closed"));
            }
            timers.shutdown();
        } finally {
            lock.unlock();
        }
    }

    // ---- Connections

    private List<Connection> connections() {
        List<Connection> all = new ArrayList<>(draining);
        if (current != null) {
            all.add(current);
        }
        if (connecting != null) {
            all.add(connecting);
        }
        return all;
    }

    void didOpen(Connection connection) {
        connecting = null;
        current = connection;
        openedAt = System.nanoTime();
        pump();
    }

    /** Goes on with the next address. If all have failed, so do the calls that wait. */
    void didFailToConnect(AssayException error) {
        if (isClosed) {
            return;
        }
        connecting = null;
        List<AssayException> all = failedAttempt(error);
        if (!all.isEmpty()) {
            AssayException shown = all.stream()
                    .filter(failure -> failure.kind() != Kind.TLS).findFirst().orElse(error);
            Kind kind = shown.kind() == Kind.TLS ? Kind.TLS : Kind.CONNECT;
            AssayException failure = new AssayException(
                    kind, "no connection: " + shown.getMessage(), shown.getCause());
            for (PendingCall<?> call : takeWaiting()) {
                call.fail(failure);
            }
        }
        pump();
    }

    /** Returns the failures of all addresses if this was the last of them to fail. */
    private List<AssayException> failedAttempt(AssayException error) {
        next = (next + 1) % addresses.size();
        failures.add(error);
        if (failures.size() < addresses.size()) {
            return List.of();
        }
        // 2^16 times the shortest pause exceeds any reasonable longest one.
        long longest = Math.min(options.longestPause.toNanos(),
                options.shortestPause.multipliedBy(1L << Math.min(rounds, 16)).toNanos());
        rounds++;
        notUntil = System.nanoTime() + longest
                - ThreadLocalRandom.current().nextLong(longest / 2 + 1);
        List<AssayException> all = failures;
        failures = new ArrayList<>();
        return all;
    }

    /** The server works, so the next attempt can start at once. */
    void didAnswer() {
        failures.clear();
        rounds = 0;
        notUntil = System.nanoTime();
    }

    /** Replaces the current connection: the next call goes to the next address. */
    private void leave(Connection connection) {
        if (current != connection) {
            return;
        }
        current = null;
        if (connection.hasAnswered) {
            next = (next + 1) % addresses.size();
        } else {
            failedAttempt(new AssayException(Kind.LOST, "it ended before an answer"));
        }
    }

    /** The server takes no new calls on this connection. */
    void didDrain(Connection connection) {
        leave(connection);
        draining.add(connection);
        closeDrained();
        pump();
    }

    /** Closes drained connections that no caller waits for. */
    void closeDrained() {
        draining.removeIf(connection -> {
            if (connection.isAwaited()) {
                return false;
            }
            connection.end();
            return true;
        });
    }

    /** Decides about the calls of a connection that has ended. */
    void didEnd(Connection connection, AssayException error, List<PendingCall<?>> calls) {
        if (isClosed) {
            return;
        }
        calls.removeIf(call -> call.isAbandoned);
        calls.sort((a, b) -> Long.compare(a.id, b.id));
        if (error.kind() == Kind.TLS && current == connection) {
            // The server refused the client's certificate: the attempt has failed only now.
            current = null;
            putFirst(calls);
            didFailToConnect(error);
            return;
        }
        leave(connection);
        draining.remove(connection);
        if (!error.retryAfter().isZero()) {
            notUntil = System.nanoTime()
                    + Math.min(error.retryAfter().toNanos(), options.longestPause.toNanos());
        }
        List<PendingCall<?>> repeated = new ArrayList<>();
        for (PendingCall<?> call : calls) {
            if (error.kind() == Kind.LOST && canRepeat(call)) {
                call.wasRepeated = true;
                repeated.add(call);
            } else {
                call.fail(error);
            }
        }
        putFirst(repeated);
        pump();
    }
}
