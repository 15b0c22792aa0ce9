package assay.client;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import javax.net.ssl.SSLContext;

/** The settings of a client. Immutable; each method returns changed settings. */
public final class AssayOptions {
    private static final AssayOptions DEFAULTS = new AssayOptions();

    List<String> addresses = List.of();
    SSLContext tls;
    String serverName;
    Duration timeout = Duration.ofSeconds(5);
    Duration connectTimeout = Duration.ofSeconds(5);
    boolean retriesOnce = true;
    int inFlightLimit = 256;
    Duration longestWait = Duration.ofSeconds(1);
    int waitingLimit = 65_536;
    Duration shortestPause = Duration.ofMillis(50);
    Duration longestPause = Duration.ofSeconds(2);
    int frameBytes = FrameReader.LARGEST_FRAME;
    Executor executor = ForkJoinPool.commonPool();

    private AssayOptions() {}

    /** Returns settings with the addresses of the environment variable ASSAY_ADDRESS. */
    public static AssayOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns settings for these addresses, each tcp://HOST:PORT, tls://HOST:PORT or unix:PATH. The
     * client uses one, and the next when that fails.
     */
    public static AssayOptions of(String... addresses) {
        AssayOptions options = DEFAULTS.copy();
        options.addresses = List.of(addresses);
        return options;
    }

    private AssayOptions copy() {
        AssayOptions copy = new AssayOptions();
        copy.addresses = addresses;
        copy.tls = tls;
        copy.serverName = serverName;
        copy.timeout = timeout;
        copy.connectTimeout = connectTimeout;
        copy.retriesOnce = retriesOnce;
        copy.inFlightLimit = inFlightLimit;
        copy.longestWait = longestWait;
        copy.waitingLimit = waitingLimit;
        copy.shortestPause = shortestPause;
        copy.longestPause = longestPause;
        copy.frameBytes = frameBytes;
        copy.executor = executor;
        return copy;
    }

    /** Sets the authorities and the client certificate for tls://: the system's authorities. */
    public AssayOptions tls(SSLContext context) {
        AssayOptions copy = copy();
        copy.tls = context;
        return copy;
    }

    /** Sets the name in the server's certificate, if it is not the address's host. */
    public AssayOptions serverName(String name) {
        AssayOptions copy = copy();
        copy.serverName = name;
        return copy;
    }

    /** Sets the timeout of a call: 5 s, at most 30 s. */
    public AssayOptions timeout(Duration timeout) {
        AssayOptions copy = copy();
        copy.timeout = positive(timeout);
        return copy;
    }

    /** Sets the timeout of one attempt to connect, handshake included: 5 s. */
    public AssayOptions connectTimeout(Duration timeout) {
        AssayOptions copy = copy();
        copy.connectTimeout = positive(timeout);
        return copy;
    }

    /** Sets whether a call is sent once more when its connection is lost: true. */
    public AssayOptions retriesOnce(boolean retriesOnce) {
        AssayOptions copy = copy();
        copy.retriesOnce = retriesOnce;
        return copy;
    }

    /** Sets the number of calls on the connection at once: 256. Others wait. */
    public AssayOptions inFlightLimit(int limit) {
        AssayOptions copy = copy();
        copy.inFlightLimit = positive(limit);
        return copy;
    }

    /**
     * Sets how long a call waits at most for a free slot on an open connection: 1 s. Then it fails with
     * TOO_MANY, and the server learns nothing of it: above a server's capacity some calls fail
     * early instead of all calls late. Calls that may wait do so until their deadline; with 30 s,
     * the longest timeout, all do.
     */
    public AssayOptions longestWait(Duration wait) {
        AssayOptions copy = copy();
        copy.longestWait = positive(wait);
        return copy;
    }

    /** Sets the number of calls that wait at once: 65536. Others fail. */
    public AssayOptions waitingLimit(int limit) {
        AssayOptions copy = copy();
        copy.waitingLimit = positive(limit);
        return copy;
    }

    /**
     * Sets the pause before the next attempt to connect when all addresses have failed: 50 ms,
     * doubled with each such round up to 2 s.
     */
    public AssayOptions pauses(Duration shortest, Duration longest) {
        AssayOptions copy = copy();
        copy.shortestPause = positive(shortest);
        copy.longestPause = positive(longest);
        return copy;
    }

    /** Sets the size limit of a request: 32 MiB. Match the server's if that is configured. */
    public AssayOptions frameBytes(int limit) {
        AssayOptions copy = copy();
        copy.frameBytes = positive(limit);
        return copy;
    }

    /** Sets what completes the futures, and so runs what depends on them: the common pool. */
    public AssayOptions executor(Executor executor) {
        AssayOptions copy = copy();
        copy.executor = Objects.requireNonNull(executor);
        return copy;
    }

    private static Duration positive(Duration duration) {
        if (duration.isNegative() || duration.isZero()) {
            throw new IllegalArgumentException("not above 0: " + duration);
        }
        return duration;
    }

    private static int positive(int number) {
        if (number <= 0) {
            throw new IllegalArgumentException("not above 0: " + number);
        }
        return number;
    }
}
