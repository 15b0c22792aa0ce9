package assay.client;

import static assay.client.Tests.equal;
import static assay.client.Tests.expect;
import static assay.client.Tests.fails;

import assay.client.AssayException.Kind;
import assay.client.model.EvidenceKind;
import assay.client.model.FetchCall;
import assay.client.model.ResolveCall;
import assay.client.model.VerifyCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The client against servers that behave and misbehave. */
final class ClientTests {
    private ClientTests() {}

    static Map<String, Tests.Test> all() {
        Map<String, Tests.Test> tests = new LinkedHashMap<>();
        tests.put("answers in any order", ClientTests::anyOrder);
        tests.put("peers that break the protocol", ClientTests::broken);
        tests.put("a peer of another protocol is named", ClientTests::otherProtocols);
        tests.put("arguments that are null", ClientTests::nulls);
        tests.put("a drain", ClientTests::drain);
        tests.put("lost connections", ClientTests::lost);
        tests.put("deadlines and cancelled calls", ClientTests::deadlines);
        tests.put("failover", ClientTests::failover);
        tests.put("limits", ClientTests::limits);
        tests.put("what depends on an answer can block", ClientTests::blocking);
        return tests;
    }

    private static CompletableFuture<Void> ping(AssayClient client) {
        return client.ping(CallOptions.DEFAULT);
    }

    private static void failsWith(Kind kind, CompletableFuture<?> call) {
        fails(CompletionException.class,
                error -> error.getCause() instanceof AssayException cause && cause.kind() == kind,
                call::join);
    }

    private static void anyOrder() throws Exception {
        int count = 100;
        Peer.Play play = peer -> {
            List<Long> ids = new ArrayList<>();
            while (ids.size() < count) {
                ids.add(peer.receive().id());
            }
            Collections.reverse(ids);
            for (long id : ids) {
                peer.pong(id);
            }
            peer.ignore();
        };
        try (var server = new Peer.Server(play);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            List<CompletableFuture<Void>> calls = new ArrayList<>();
            for (int n = 0; n < count; n++) {
                calls.add(ping(client));
            }
            calls.forEach(CompletableFuture::join);
        }
    }

    private static void broken() throws Exception {
        List<Peer.Play> plays = List.of(
                peer -> peer.pong(peer.receive().id() + 7), // an id nobody asked for
                peer -> peer.info(peer.receive().id()), // another call's answer
                peer -> peer.pong(0), // a notice without a reason
                peer -> peer.write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes()),
                peer -> peer.write(new byte[] {2, 0, 0, 1})); // a frame above the limit
        for (Peer.Play play : plays) {
            try (var server = new Peer.Server(play, Peer::answer);
                    var client = new AssayClient(AssayOptions.of(server.address))) {
                failsWith(Kind.PROTOCOL, ping(client));
            }
        }
    }

    private static void otherProtocols() throws Exception {
        String http = "this is HTTP: the port of --listen http://; a client needs that of";
        String tls = "this is TLS: write tls://HOST:PORT";
        Map<byte[], String> peers = new LinkedHashMap<>();
        peers.put("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(), http);
        peers.put("HTTP".getBytes(), http);
        peers.put(new byte[] {0x15, 3, 3, 0, 2, 2, 0x28}, tls);
        peers.put(new byte[] {0x16, 3, 1, 0}, tls);
        peers.put("HTTQ".getBytes(), "a frame of 1213486161 bytes");
        for (Map.Entry<byte[], String> peer : peers.entrySet()) {
            try (var server = new Peer.Server(one -> one.write(peer.getKey()), Peer::answer);
                    var client = new AssayClient(AssayOptions.of(server.address))) {
                fails(CompletionException.class,
                        error -> error.getCause() instanceof AssayException cause
                                && cause.kind() == Kind.PROTOCOL
                                && cause.getMessage().contains(peer.getValue()),
                        () -> ping(client).join());
            }
        }
    }

    private static void nulls() throws Exception {
        VerifyCall verify = VerifyCall.builder().build();
        ResolveCall resolve = ResolveCall.builder().build();
        FetchCall fetch = FetchCall.builder().build();
        byte[] evidence = {1};
        try (var server = new Peer.Server(Peer::answer);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            Map<String, Tests.Test> calls = new LinkedHashMap<>();
            calls.put("evidence is null", () -> client.verify(null, verify));
            calls.put("call is null", () -> client.verify(evidence, null));
            calls.put("callOptions is null", () -> client.verify(evidence, verify, null));
            calls.put("items is null", () -> client.resolve(null, resolve));
            calls.put("items[1] is null", () -> client.resolve(
                    Arrays.asList(Item.of(evidence), null), resolve));
            calls.put("the evidence of an item is null", () -> Item.of(null));
            calls.put("transactionId is null", () -> client.fetch(null, fetch));
            for (Map.Entry<String, Tests.Test> call : calls.entrySet()) {
                fails(NullPointerException.class,
                        error -> error.getMessage().equals(call.getKey()), call.getValue());
            }
            ping(client).join();
        }
    }

    private static void drain() throws Exception {
        CountDownLatch isDraining = new CountDownLatch(1);
        CountDownLatch isReplaced = new CountDownLatch(1);
        Peer.Play draining = peer -> {
            peer.pong(peer.receive().id());
            long old = peer.receive().id();
            peer.drain();
            isDraining.countDown();
            try {
                expect(isReplaced.await(5, TimeUnit.SECONDS), "no new connection");
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            peer.pong(old);
            peer.ignore();
        };
        try (var server = new Peer.Server(draining, Peer::answer);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            ping(client).join();
            CompletableFuture<Void> inFlight = ping(client);
            isDraining.await();
            Thread.sleep(50);
            ping(client).join();
            expect(!inFlight.isDone(), "answered early");
            isReplaced.countDown();
            inFlight.join();
        }
    }

    private static void lost() throws Exception {
        Peer.Play lose = peer -> {
            peer.receive();
            peer.close();
        };
        try (var server = new Peer.Server(lose, Peer::answer);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            ping(client).join();
        }
        try (var server = new Peer.Server(lose, lose);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            failsWith(Kind.LOST, ping(client));
        }
        try (var server = new Peer.Server(lose, Peer::answer);
                var client = new AssayClient(
                        AssayOptions.of(server.address).retriesOnce(false))) {
            failsWith(Kind.LOST, ping(client));
        }
    }

    private static void deadlines() throws Exception {
        try (var server = new Peer.Server(Peer::ignore);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            long start = System.nanoTime();
            Duration timeout = Duration.ofMillis(9);
            failsWith(Kind.DEADLINE, client.ping(CallOptions.DEFAULT.timeout(timeout)));
            long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            expect(passed >= 250, "the server had no time to answer: " + passed);
            CompletableFuture<Void> cancelled = ping(client);
            cancelled.cancel(true);
            fails(CancellationException.class, error -> true, cancelled::join);
            fails(CompletionException.class, error -> error.getCause() instanceof TimeoutException,
                    ping(client).orTimeout(5, TimeUnit.MILLISECONDS)::join);
        }
    }

    private static void failover() throws Exception {
        try (var server = new Peer.Server(Peer::answer);
                var client = new AssayClient(AssayOptions.of(
                        "unix:/nowhere/1", "tcp://127.0.0.1:1", server.address))) {
            ping(client).join();
        }
        try (var client = new AssayClient(AssayOptions.of("unix:/nowhere/1", "unix:/nowhere/2"))) {
            failsWith(Kind.CONNECT, ping(client));
        }
    }

    private static void limits() throws Exception {
        Peer.Play late = peer -> {
            try {
                Thread.sleep(50);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            peer.answer();
        };
        try (var server = new Peer.Server(late)) {
            var client = new AssayClient(AssayOptions.of(server.address)
                    .inFlightLimit(1).waitingLimit(2).frameBytes(1000));
            VerifyCall call = VerifyCall.builder().kind(EvidenceKind.TRANSACTION).build();
            failsWith(Kind.TOO_LARGE, client.verify(new byte[1000], call));
            List<CompletableFuture<Void>> calls = new ArrayList<>();
            for (int n = 0; n < 10; n++) {
                calls.add(ping(client));
            }
            int refused = 0;
            for (CompletableFuture<Void> pending : calls) {
                try {
                    pending.join();
                } catch (CompletionException error) {
                    equal(((AssayException) error.getCause()).kind(), Kind.TOO_MANY);
                    refused++;
                }
            }
            // 1 is in flight, and 2 wait.
            equal(refused, 7);
            client.close();
            failsWith(Kind.CLOSED, ping(client));
        }
    }

    private static void blocking() throws Exception {
        try (var server = new Peer.Server(Peer::answer);
                var client = new AssayClient(AssayOptions.of(server.address))) {
            CompletableFuture<Void> chain = ping(client)
                    .thenRun(() -> ping(client).join()).thenRun(() -> ping(client).join());
            chain.get(5, TimeUnit.SECONDS);
        }
    }
}
