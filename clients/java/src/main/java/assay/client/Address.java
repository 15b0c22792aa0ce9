package assay.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a server listens: a path, or a host and a port.
 *
 * @param text as the caller wrote it
 * @param path of a Unix socket; null for TCP and TLS
 */
record Address(String text, String path, String host, int port, boolean isTls) {
    /** The length of a socket's path: sun_path has 108 bytes, one of them the end. */
    private static final int UNIX_PATH_LIMIT = 107;

    private static final Pattern HOST_AND_PORT =
            Pattern.compile("(tcp|tls)://(?:\\[([0-9A-Fa-f:.%]+)]|([^:/\\s\\[\\]]+)):([0-9]{1,5})");

    /** Parses addresses; without any, those of the environment variable ASSAY_ADDRESS. */
    static List<Address> parse(List<String> texts, String environment) {
        if (texts.isEmpty()) {
            if (environment == null || environment.isEmpty()) {
                throw new AssayException(AssayException.Kind.ADDRESS,
                        "no address: name one, or set the environment variable ASSAY_ADDRESS");
            }
            texts = List.of(environment.split(","));
        }
        List<Address> addresses = new ArrayList<>();
        for (String text : texts) {
            addresses.add(parse(text.strip()));
        }
        return addresses;
    }

    private static Address parse(String text) {
        if (text.startsWith("unix:")) {
            String path = text.substring("unix:".length());
            if (path.isEmpty() || path.indexOf('\0') >= 0) {
                throw refused(text, "has no path");
            }
            if (path.startsWith("@")) {
                throw refused(text, "names an abstract socket, which Java does not support");
            }
            if (path.getBytes(StandardCharsets.UTF_8).length > UNIX_PATH_LIMIT) {
                throw refused(text, "has a path of more than " + UNIX_PATH_LIMIT + " bytes");
            }
            return new Address(text, path, null, 0, false);
        }
        if (!text.startsWith("tcp://") && !text.startsWith("tls://")) {
            throw refused(text, "has no known scheme");
        }
        Matcher parts = HOST_AND_PORT.matcher(text);
        if (!parts.matches()) {
            throw refused(text, "has no host and port");
        }
        int port = Integer.parseInt(parts.group(4));
        if (port < 1 || port > 65535) {
            throw refused(text, "has no port from 1 to 65535");
        }
        String host = parts.group(2) == null ? parts.group(3) : parts.group(2);
        return new Address(text, null, host, port, parts.group(1).equals("tls"));
    }

    private static AssayException refused(String text, String problem) {
        return new AssayException(AssayException.Kind.ADDRESS, "\"" + text + "\" " + problem
                + "; write tcp://HOST:PORT, tls://HOST:PORT or unix:PATH");
    }
}
