package assay.client;

import assay.client.model.Codec;
import assay.client.model.Pong;
import assay.client.model.RequestHead;
import assay.client.model.ResponseHead;
import assay.client.model.ServerInfo;
import assay.client.model.Status;
import java.io.Closeable;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The server's side of one connection, for a test to play. */
final class Peer {
    /** Plays the server's side. */
    interface Play {
        void play(Peer peer) throws IOException;
    }

    /** A server whose connections, one after the other, are played by the functions. */
    static final class Server implements Closeable {
        final String address;
        private final Path folder;
        private final ServerSocketChannel listener;
        private final List<SocketChannel> streams =
                Collections.synchronizedList(new ArrayList<>());

        Server(Play... plays) throws IOException {
            folder = Files.createTempDirectory("assay");
            Path path = folder.resolve("s");
            address = "unix:" + path;
            listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            listener.bind(UnixDomainSocketAddress.of(path));
            daemon(() -> {
                for (Play play : plays) {
                    SocketChannel stream = listener.accept();
                    streams.add(stream);
                    daemon(() -> play.play(new Peer(stream)));
                }
            });
        }

        private interface Work {
            void run() throws IOException;
        }

        private static void daemon(Work work) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (IOException error) {
                    // The client or the test has ended the connection.
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() throws IOException {
            listener.close();
            for (SocketChannel stream : List.copyOf(streams)) {
                stream.close();
            }
            Files.deleteIfExists(folder.resolve("s"));
            Files.delete(folder);
        }
    }

    private final SocketChannel stream;

    private Peer(SocketChannel stream) {
        this.stream = stream;
    }

    private ByteBuffer read(int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(count);
        while (buffer.hasRemaining()) {
            if (stream.read(buffer) < 0) {
                throw new IOException("the end");
            }
        }
        return buffer.flip();
    }

    RequestHead receive() throws IOException {
        ByteBuffer prefix = read(8);
        ByteBuffer frame = read(prefix.getInt() - 4);
        byte[] head = new byte[prefix.getInt()];
        frame.get(head);
        return Codec.decodeRequest(head);
    }

    void write(byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            stream.write(buffer);
        }
    }

    void send(ResponseHead.Builder head) throws IOException {
        byte[] bytes = Codec.encode(head.build());
        write(ByteBuffer.allocate(8 + bytes.length)
                .putInt(4 + bytes.length).putInt(bytes.length).put(bytes).array());
    }

    void pong(long id) throws IOException {
        send(ResponseHead.builder().id(id).pong(Pong.builder().build()));
    }

    void info(long id) throws IOException {
        send(ResponseHead.builder().id(id).info(ServerInfo.builder().build()));
    }

    void drain() throws IOException {
        send(ResponseHead.builder().id(0L).status(Status.UNAVAILABLE).message("draining"));
    }

    /** Answers all requests until the connection ends. */
    void answer() throws IOException {
        while (true) {
            pong(receive().id());
        }
    }

    /** Reads until the connection ends. */
    void ignore() throws IOException {
        while (true) {
            read(1);
        }
    }

    void close() throws IOException {
        stream.close();
    }
}
