package assay.client;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** A stream of bytes to a server, which one thread reads and another writes. */
final class Transport implements Closeable {
    final InputStream in;
    final OutputStream out;
    private final Closeable below;

    private Transport(InputStream in, OutputStream out, Closeable below) {
        this.in = in;
        this.out = out;
        this.below = below;
    }

    /** Makes the sockets of one attempt. To close it ends the attempt, from any thread. */
    static final class Attempt implements Closeable {
        private Closeable socket;
        private boolean isClosed;

        private synchronized <S extends Closeable> S keep(S socket) throws IOException {
            this.socket = socket;
            if (isClosed) {
                socket.close();
            }
            return socket;
        }

        @Override
        public synchronized void close() throws IOException {
            isClosed = true;
            if (socket != null) {
                socket.close();
            }
        }

        Transport connect(Address address, AssayOptions options) throws IOException {
            if (address.path() != null) {
                SocketChannel channel = keep(SocketChannel.open(StandardProtocolFamily.UNIX));
                try {
                    channel.connect(UnixDomainSocketAddress.of(address.path()));
                } catch (IOException error) {
                    channel.close();
                    throw error;
                }
                return new Transport(input(channel), output(channel), channel);
            }
            Socket socket = connect(address, (int) options.connectTimeout.toMillis());
            if (!address.isTls()) {
                return new Transport(socket.getInputStream(), socket.getOutputStream(), socket);
            }
            try {
                SSLSocket secured = handshake(socket, address, options);
                return new Transport(secured.getInputStream(), secured.getOutputStream(), socket);
            } catch (IOException error) {
                socket.close();
                throw error;
            }
        }

        /** Tries each of the host's addresses. */
        private Socket connect(Address address, int timeout) throws IOException {
            IOException last = null;
            for (InetAddress host : InetAddress.getAllByName(address.host())) {
                Socket socket = keep(new Socket());
                try {
                    socket.setTcpNoDelay(true);
                    socket.connect(new InetSocketAddress(host, address.port()), timeout);
                    return socket;
                } catch (IOException error) {
                    socket.close();
                    last = error;
                }
            }
            throw last;
        }
    }

    private static SSLSocket handshake(Socket socket, Address address, AssayOptions options)
            throws IOException {
        String name = options.serverName == null ? address.host() : options.serverName;
        SSLSocket secured = (SSLSocket) context(options).getSocketFactory()
                .createSocket(socket, name, address.port(), true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        return secured;
    }

    private static SSLContext context(AssayOptions options) {
        try {
            return options.tls == null ? SSLContext.getDefault() : options.tls;
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("the system has no TLS", error);
        }
    }

    /**
     * Closes the socket below TLS, because the TLS layer would wait for a blocked writer. A frame
     * has its length, so the server notices what is cut off.
     */
    @Override
    public void close() {
        try {
            below.close();
        } catch (IOException error) {
            // It is closed nevertheless.
        }
    }

    // The streams of java.nio.channels.Channels share a lock: a reader would hold up the writer.

    private static InputStream input(SocketChannel channel) {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
            }

            @Override
            public int read(byte[] bytes, int start, int count) throws IOException {
                return channel.read(ByteBuffer.wrap(bytes, start, count));
            }
        };
    }

    private static OutputStream output(SocketChannel channel) {
        return new OutputStream() {
            @Override
            public void write(int octet) throws IOException {
                write(new byte[] {(byte) octet}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int start, int count) throws IOException {
                ByteBuffer buffer = ByteBuffer.wrap(bytes, start, count);
                while (buffer.hasRemaining()) {
                    if (channel.write(buffer) < 0) {
                        throw new EOFException();
                    }
                }
            }
        };
    }
}
