import assay.v1.*;
import com.google.protobuf.ExtensionRegistryLite;
import com.google.protobuf.MessageLite;
import grpc.health.v1.HealthGrpc;
import grpc.health.v1.HealthOuterClass.HealthCheckRequest;
import grpc.health.v1.HealthOuterClass.HealthCheckResponse;
import io.grpc.*;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Makes calls with gRPC for Java for rpc_agents.py, which says what its lines mean. */
public final class Agent {
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private static String encoded(byte[] bytes) {
        return bytes == null || bytes.length == 0 ? "-" : Base64.getEncoder().encodeToString(bytes);
    }

    private static MessageLite call(
            Channel channel, CallOptions options, ClientInterceptor[] fields, String method,
            byte[] bytes) throws Exception {
        Channel used = ClientInterceptors.intercept(channel, fields);
        switch (method) {
            case "Verify":
                return ClientCalls.blockingUnaryCall(
                        used, VerifierGrpc.getVerifyMethod(), options,
                        VerifyRequest.parseFrom(bytes));
            case "Resolve":
                return ClientCalls.blockingUnaryCall(
                        used, VerifierGrpc.getResolveMethod(), options,
                        ResolveRequest.parseFrom(bytes));
            case "Fetch":
                return ClientCalls.blockingUnaryCall(
                        used, VerifierGrpc.getFetchMethod(), options, FetchRequest.parseFrom(bytes));
            case "Info":
                return ClientCalls.blockingUnaryCall(
                        used, VerifierGrpc.getInfoMethod(), options, InfoRequest.parseFrom(bytes));
            case "SignPromotionalOffer":
                return ClientCalls.blockingUnaryCall(
                        used, SignerGrpc.getSignPromotionalOfferMethod(), options,
                        SignPromotionalOfferRequest.parseFrom(bytes));
            case "Check":
                return ClientCalls.blockingUnaryCall(
                        used, HealthGrpc.getCheckMethod(), options,
                        HealthCheckRequest.parseFrom(bytes));
            default:
                throw new IllegalArgumentException(method);
        }
    }

    private static void stream(Channel channel, int count, byte[] bytes) throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        int[] counts = new int[2];
        Set<Long> ids = new HashSet<>();
        String[] failure = new String[1];
        StreamObserver<VerifyStreamRequest> requests = VerifierGrpc.newStub(channel).verifyStream(
                new StreamObserver<VerifyStreamResponse>() {
                    @Override public void onNext(VerifyStreamResponse found) {
                        counts[0]++;
                        ids.add(found.getId());
                        if (found.getVerification().getVerdict() == Verdict.VERDICT_VALID) counts[1]++;
                    }

                    @Override public void onError(Throwable error) {
                        failure[0] = String.valueOf(error);
                        end.countDown();
                    }

                    @Override public void onCompleted() { end.countDown(); }
                });
        ClientCallStreamObserver<VerifyStreamRequest> flow =
                (ClientCallStreamObserver<VerifyStreamRequest>) requests;
        VerifyStreamRequest request = VerifyStreamRequest.parseFrom(bytes);
        for (int id = 1; id <= count && end.getCount() > 0; id++) {
            while (!flow.isReady() && end.getCount() > 0) Thread.sleep(1);
            requests.onNext(request.toBuilder().setId(id).build());
        }
        requests.onCompleted();
        end.await();
        System.out.println(
                failure[0] == null ? counts[0] + " " + counts[1] + " " + ids.size() : failure[0]);
    }

    private static void watch(Channel channel, byte[] bytes) throws Exception {
        Iterator<HealthCheckResponse> found =
                HealthGrpc.newBlockingStub(channel).watch(HealthCheckRequest.parseFrom(bytes));
        try {
            while (found.hasNext()) System.out.println("status " + found.next().getStatusValue());
            System.out.println("0 - - -");
        } catch (StatusRuntimeException error) {
            System.out.println(error.getStatus().getCode().value() + " - - -");
        }
    }

    public static void main(String[] arguments) throws Exception {
        ManagedChannel channel =
                NettyChannelBuilder.forTarget(arguments[0]).usePlaintext().build();
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.split(" ");
            int number = Integer.parseInt(words[2]);
            byte[] bytes = Files.readAllBytes(Paths.get(words[3]));
            if (words[0].equals("stream")) {
                stream(channel, number, bytes);
                continue;
            }
            if (words[0].equals("watch")) {
                watch(channel, bytes);
                continue;
            }
            Metadata fields = new Metadata();
            if (words.length > 4) fields.put(AUTHORIZATION, "Bearer " + words[4]);
            ClientInterceptor[] interceptors = {MetadataUtils.newAttachHeadersInterceptor(fields)};
            CallOptions options = CallOptions.DEFAULT;
            if (words[0].equals("call") && number > 0)
                options = options.withDeadlineAfter(number, TimeUnit.MILLISECONDS);
            Context.CancellableContext context = Context.current().withCancellation();
            if (words[0].equals("cancel"))
                timer.schedule(() -> context.cancel(null), number, TimeUnit.MILLISECONDS);
            Context before = context.attach();
            try {
                MessageLite found = call(channel, options, interceptors, words[1], bytes);
                System.out.println("0 - " + encoded(found.toByteArray()) + " -");
            } catch (StatusRuntimeException error) {
                Metadata trailers = error.getTrailers();
                String message = error.getStatus().getDescription();
                System.out.println(
                        error.getStatus().getCode().value() + " "
                                + encoded(message == null ? null : message.getBytes("UTF-8")) + " - "
                                + encoded(trailers == null ? null : trailers.get(DETAILS)));
            } finally {
                context.detach(before);
            }
        }
        channel.shutdownNow();
        timer.shutdownNow();
    }
}
