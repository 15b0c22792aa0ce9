package assay.client;

import assay.client.model.EntitlementPolicy;
import assay.client.model.Entitlements;
import assay.client.model.EvidenceKind;
import assay.client.model.Expectations;
import assay.client.model.FetchCall;
import assay.client.model.ProductDuration;
import assay.client.model.ProductEntitlement;
import assay.client.model.ResolveCall;
import assay.client.model.ServerInfo;
import assay.client.model.StoreList;
import assay.client.model.Subscription;
import assay.client.model.SubscriptionGroup;
import assay.client.model.Verification;
import assay.client.model.VerifyCall;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;

/** Performs the cases of the conformance suite; see conformance/README.md. */
public final class Conformance {
    /** What was read, because thousands of calls can send the same file. */
    private static final Map<String, byte[]> FILES = new LinkedHashMap<>();

    private Conformance() {}

    /** Reads cases from standard input, and writes their outcomes to standard output. */
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.println("{\"ready\": \"java\"}");
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(Json.write(perform(Json.object(Json.parse(line)))));
        }
    }

    private static Map<String, Object> perform(Map<String, Object> given) throws Exception {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("name", given.get("name"));
        List<Object> outcomes = new ArrayList<>();
        try (AssayClient client = new AssayClient(options(given))) {
            for (Object step : Json.list(given.get("steps"))) {
                Map<String, Object> members = Json.object(step);
                if (members.containsKey("close")) {
                    client.close();
                }
                if (members.get("sleepMs") instanceof Long pause) {
                    Thread.sleep(pause);
                }
                List<CompletableFuture<Map<String, Object>>> started = new ArrayList<>();
                for (Object call : Json.list(members.get("calls"))) {
                    Object count = Json.object(call).getOrDefault("count", 1L);
                    for (long n = 0; n < (Long) count; n++) {
                        started.add(start(client, Json.object(call)));
                    }
                }
                started.forEach(outcome -> outcomes.add(outcome.join()));
            }
        } catch (AssayException error) {
            result.put("error", "address");
            result.put("message", error.getMessage());
            return result;
        }
        result.put("outcomes", outcomes);
        return result;
    }

    private static AssayOptions options(Map<String, Object> given)
            throws IOException, GeneralSecurityException {
        String[] addresses = Json.list(given.get("addresses")).toArray(String[]::new);
        AssayOptions options = AssayOptions.of(addresses);
        for (Map.Entry<String, Object> option : Json.object(given.get("options")).entrySet()) {
            if (option.getKey().equals("retriesOnce")) {
                options = options.retriesOnce((Boolean) option.getValue());
                continue;
            }
            long number = (Long) option.getValue();
            Duration time = Duration.ofMillis(number);
            options = switch (option.getKey()) {
                case "timeoutMs" -> options.timeout(time);
                case "connectTimeoutMs" -> options.connectTimeout(time);
                case "inFlightLimit" -> options.inFlightLimit((int) number);
                case "longestWaitMs" -> options.longestWait(time);
                case "waitingLimit" -> options.waitingLimit((int) number);
                case "shortestPauseMs" -> options.pauses(time, options.longestPause);
                case "longestPauseMs" -> options.pauses(options.shortestPause, time);
                case "frameBytes" -> options.frameBytes((int) number);
                default -> throw new IllegalArgumentException(option.getKey());
            };
        }
        Map<String, Object> tls = Json.object(given.get("tls"));
        Path authority = path(tls.get("authority"));
        if (tls.containsKey("certificate")) {
            options = options.tls(
                    Tls.mutual(authority, path(tls.get("certificate")), path(tls.get("key"))));
        } else if (authority != null) {
            options = options.tls(Tls.trusting(authority));
        }
        return tls.containsKey("serverName")
                ? options.serverName((String) tls.get("serverName")) : options;
    }

    private static Path path(Object text) {
        return text == null ? null : Path.of((String) text);
    }

    /** Starts a call. The future never fails. */
    private static CompletableFuture<Map<String, Object>> start(
            AssayClient client, Map<String, Object> call) throws IOException {
        try {
            return answer(client, call);
        } catch (IllegalArgumentException error) {
            return CompletableFuture.completedFuture(map("error", "argument", "retryable", false,
                    "message", error.getMessage(), "elapsedMs", 0));
        }
    }

    private static CompletableFuture<Map<String, Object>> answer(
            AssayClient client, Map<String, Object> call) throws IOException {
        CallOptions options = new CallOptions(
                call.get("timeoutMs") instanceof Long time ? Duration.ofMillis(time) : null,
                (String) call.get("app"), Boolean.TRUE.equals(call.get("mayWait")));
        long began = System.nanoTime();
        return switch ((String) call.get("call")) {
            case "verify" -> outcome(call, began, client.verify(
                    bytes(call.get("evidence")), verifyCall(call), options),
                    Conformance::verification);
            case "resolve" -> outcome(call, began, client.resolve(
                    items(call), resolveCall(call), options), Conformance::resolution);
            case "fetch" -> outcome(call, began, call.containsKey("evidence")
                    ? client.fetchByEvidence(bytes(call.get("evidence")), fetchCall(call), options)
                    : client.fetch((String) call.getOrDefault("transactionId", ""),
                            fetchCall(call), options),
                    Conformance::fetched);
            case "health" -> outcome(call, began, client.health(options),
                    serving -> map("ok", "health", "serving", serving));
            case "info" -> outcome(call, began, client.info(options), Conformance::info);
            case "ping" -> outcome(call, began, client.ping(options), nothing -> map("ok", "pong"));
            default -> throw new IllegalArgumentException("unknown call " + call);
        };
    }

    private static <T> CompletableFuture<Map<String, Object>> outcome(Map<String, Object> call,
            long began, CompletableFuture<T> future, Function<T, Map<String, Object>> describe) {
        if (call.get("cancelAfterMs") instanceof Long time) {
            CompletableFuture.delayedExecutor(time, TimeUnit.MILLISECONDS)
                    .execute(() -> future.cancel(true));
        }
        return future.handle((answer, error) -> {
            Map<String, Object> result = error == null ? describe.apply(answer) : failure(error);
            result.put("elapsedMs", (System.nanoTime() - began) / 1e6);
            return result;
        });
    }

    private static Map<String, Object> failure(Throwable error) {
        if (error instanceof CompletionException) {
            error = error.getCause();
        }
        if (error instanceof CancellationException) {
            return map("error", "cancelled", "retryable", false);
        }
        AssayException known = (AssayException) error;
        Map<String, Object> result = map(
                "error", known.kind().toString().toLowerCase().replace('_', '-'),
                "retryable", known.isRetryable(), "message", known.getMessage());
        if (known.status() != null) {
            result.put("status", name(known.status()));
        }
        if (known.appStoreErrorCode() != null) {
            result.put("appStoreErrorCode", known.appStoreErrorCode().toString());
        }
        if (!known.retryAfter().isZero()) {
            result.put("retryAfterMs", known.retryAfter().toMillis());
        }
        return result;
    }

    private static Map<String, Object> map(Object... namesAndValues) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int index = 0; index < namesAndValues.length; index += 2) {
            result.put((String) namesAndValues[index], namesAndValues[index + 1]);
        }
        return result;
    }

    private static String name(Enum<?> value) {
        String name = value.toString();
        return name.equals("UNRECOGNIZED") || name.equals("UNSPECIFIED") ? "UNKNOWN" : name;
    }

    // ---- Calls

    private static byte[] bytes(Object evidence) throws IOException {
        Map<String, Object> members = Json.object(evidence);
        if (members.get("file") instanceof String file) {
            if (!FILES.containsKey(file)) {
                FILES.put(file, Files.readAllBytes(Path.of(file)));
            }
            return FILES.get(file);
        }
        if (members.get("text") instanceof String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        return new byte[((Long) members.getOrDefault("zeros", 0L)).intValue()];
    }

    private static EvidenceKind kind(Map<String, Object> members) {
        return members.get("kind") instanceof String name ? EvidenceKind.valueOf(name) : null;
    }

    private static Long number(Object text) {
        return text == null ? null : Long.valueOf((String) text);
    }

    private static List<String> texts(Object list) {
        return Json.list(list).stream().map(String.class::cast).toList();
    }

    private static Expectations expectations(Map<String, Object> call) {
        if (!call.containsKey("expectations")) {
            return null;
        }
        Map<String, Object> given = Json.object(call.get("expectations"));
        Expectations.Builder result = Expectations.builder();
        given.forEach((name, value) -> {
            switch (name) {
                case "bundleId" -> result.bundleId((String) value);
                case "environments" -> result.environments(texts(value));
                case "productIds" -> result.productIds(texts(value));
                case "appAccountToken" -> result.appAccountToken((String) value);
                case "transactionId" -> result.transactionId((String) value);
                case "notOlderThan" -> result.notOlderThan(number(value));
                case "appAppleId" -> result.appAppleId(number(value));
                case "deviceIdentifier" ->
                        result.deviceIdentifier(HexFormat.of().parseHex((String) value));
                case "deviceVerificationId" -> result.deviceVerificationId((String) value);
                default -> throw new IllegalStateException(name);
            }
        });
        return result.build();
    }

    private static VerifyCall verifyCall(Map<String, Object> call) {
        return VerifyCall.builder().kind(kind(call)).expectations(expectations(call))
                .returnPayloadJson(Boolean.TRUE.equals(call.get("returnPayloadJson")))
                .omitTypedPayload(Boolean.TRUE.equals(call.get("omitTypedPayload"))).build();
    }

    private static List<Item> items(Map<String, Object> call) throws IOException {
        List<Item> items = new ArrayList<>();
        for (Object item : Json.list(call.get("items"))) {
            Map<String, Object> members = Json.object(item);
            items.add(new Item(bytes(members.get("evidence")), kind(members),
                    (String) members.get("label")));
        }
        return items;
    }

    private static ResolveCall resolveCall(Map<String, Object> call) {
        return ResolveCall.builder().at(number(call.get("at"))).expectations(expectations(call))
                .returnPayloadJson(Boolean.TRUE.equals(call.get("returnPayloadJson")))
                .policy(policy(call)).build();
    }

    private static FetchCall fetchCall(Map<String, Object> call) {
        return FetchCall.builder().at(number(call.get("at"))).policy(policy(call))
                .lists(texts(call.get("lists")).stream().map(StoreList::valueOf).toList())
                .returnTypedPayloads(Boolean.TRUE.equals(call.get("returnTypedPayloads"))).build();
    }

    private static EntitlementPolicy policy(Map<String, Object> call) {
        if (!call.containsKey("policy")) {
            return null;
        }
        Map<String, Object> given = Json.object(call.get("policy"));
        List<ProductDuration> durations = new ArrayList<>();
        Json.object(given.get("durations")).forEach((product, time) ->
                durations.add(new ProductDuration(product, number(time),
                        texts(given.get("stackedProducts")).contains(product))));
        EntitlementPolicy.Builder result = EntitlementPolicy.builder();
        if (given.containsKey("expectedAppAccountToken")) {
            result.expectedAppAccountToken((String) given.get("expectedAppAccountToken"));
        }
        return result.maxAgeMs(number(given.get("maxAgeMs")))
                .billingRetryLeniencyMs(number(given.get("billingRetryLeniencyMs")))
                .durations(durations)
                .refuseFamilySharing(Boolean.TRUE.equals(given.get("refuseFamilySharing")))
                .renewalLeniencyMs(number(given.get("renewalLeniencyMs")))
                .knownAt(number(given.get("knownAt")))
                .build();
    }

    // ---- Answers

    private static Map<String, Object> info(ServerInfo info) {
        List<String> kinds = info.kinds().stream().map(Conformance::name)
                .filter(name -> !name.equals("UNKNOWN")).toList();
        Map<String, Object> result = map("ok", "info", "version", info.version(), "kinds", kinds,
                "roots", info.trustedRoots().size());
        if (info.limits() != null) {
            result.put("frameBytes", info.limits().frameBytes());
            result.put("resolveItems", info.limits().resolveItems());
        }
        return result;
    }

    private static Map<String, Object> verification(VerifyAnswer answer) {
        Verification found = answer.verification();
        String verdict = name(answer.verdict());
        Map<String, Object> result = map("ok", "verification", "valid", verdict.equals("VALID"),
                "verdict", verdict, "detail", found.detail(), "environment", found.environment(),
                "dedupKey", found.dedupKey(), "payload", payload(found));
        if (found.kind() != null && !name(found.kind()).equals("UNKNOWN")) {
            result.put("kind", name(found.kind()));
        }
        if (found.certificate() != null) {
            result.put("serial", found.certificate().serial());
            result.put("notAfter", text(found.certificate().notAfter()));
        }
        if (found.transaction() != null) {
            result.put("transactionId", found.transaction().transactionId());
            result.put("productId", found.transaction().productId());
            result.put("price", text(found.transaction().price()));
        }
        if (answer.payloadJson().length > 0) {
            result.put("jsonBytes", answer.payloadJson().length);
        }
        return result;
    }

    private static String text(Long number) {
        return number == null ? null : number.toString();
    }

    private static String payload(Verification found) {
        Map<String, Object> all = map("transaction", found.transaction(),
                "renewalInfo", found.renewalInfo(), "appTransaction", found.appTransaction(),
                "notification", found.notification(), "realtimeRequest", found.realtimeRequest(),
                "appReceipt", found.appReceipt(), "transactionReceipt", found.transactionReceipt(),
                "serverAnswer", found.serverAnswer(), "notificationV1", found.notificationV1(),
                "googlePurchase", found.googlePurchase(), "huaweiPurchase", found.huaweiPurchase(),
                "harmonyPurchase", found.harmonyPurchase(),
                "harmonySubscription", found.harmonySubscription(),
                "harmonyNotification", found.harmonyNotification(),
                "googleNotification", found.googleNotification(),
                "huaweiNotification", found.huaweiNotification());
        return all.entrySet().stream().filter(entry -> entry.getValue() != null)
                .map(Map.Entry::getKey).findFirst().orElse(null);
    }

    private static Map<String, Object> resolution(ResolveAnswer answer) {
        return owned("resolution", answer.items(), answer.entitlements());
    }

    private static Map<String, Object> fetched(FetchAnswer answer) {
        Map<String, Object> result = owned("fetch", answer.items(), answer.entitlements());
        result.put("environment", answer.environment());
        result.put("revision", answer.revision());
        return result;
    }

    private static Map<String, Object> owned(
            String call, List<Resolved> items, Entitlements entitlements) {
        List<String> entitled = new ArrayList<>();
        List<Integer> decidedBy = new ArrayList<>();
        entitlements.apps().forEach(app -> {
            app.subscriptionGroups().stream().map(SubscriptionGroup::deciding)
                    .filter(deciding -> deciding != null && deciding.isEntitled())
                    .map(Subscription::productId).forEach(entitled::add);
            List.of(app.nonConsumables(), app.nonRenewing()).stream().flatMap(Collection::stream)
                    .filter(ProductEntitlement::isEntitled)
                    .map(ProductEntitlement::productId).forEach(entitled::add);
            app.subscriptionGroups().stream().limit(1)
                    .forEach(group -> decidedBy.add(group.deciding().decidedBy().item()));
        });
        Map<String, Object> result = map("ok", call,
                "items", items.stream().map(item -> name(item.verdict())).toList(),
                "labels", items.stream()
                        .map(item -> item.label() == null ? "" : item.label()).toList(),
                "entitled", entitled.stream().sorted().toList(),
                "isStale", entitlements.isStale() ? true : null, "decidedBy", decidedBy);
        describe(result, items, entitlements);
        return result;
    }

    /** Adds what only some answers have. */
    private static void describe(
            Map<String, Object> result, List<Resolved> items, Entitlements entitlements) {
        put(result, "evidenceKeys", items.stream().map(item -> item.verification().evidenceKey()));
        put(result, "originals", items.stream().map(Resolved::originalTransactionId));
        put(result, "accounts", items.stream().map(Resolved::appAccountToken));
        put(result, "downloads", items.stream().map(Resolved::appTransactionId));
        put(result, "notifications", items.stream().map(Resolved::notificationType));
        put(result, "subtypes", items.stream().map(Resolved::subtype));
        List<Integer> superseded = new ArrayList<>();
        for (int index = 0; index < items.size(); index++) {
            if (items.get(index).isSuperseded()) {
                superseded.add(index);
            }
        }
        if (!superseded.isEmpty()) {
            result.put("superseded", superseded);
        }
        List<Subscription> deciding = entitlements.apps().stream()
                .flatMap(app -> app.subscriptionGroups().stream())
                .map(SubscriptionGroup::deciding).filter(Objects::nonNull).toList();
        put(result, "seats", deciding.stream().map(Subscription::seats)
                .filter(Objects::nonNull).map(String::valueOf));
        Stream<String> products = entitlements.apps().stream()
                .flatMap(app -> Stream.concat(
                        app.nonConsumables().stream(), app.nonRenewing().stream()))
                .filter(ProductEntitlement::belongsToAnotherAccount)
                .map(ProductEntitlement::productId);
        put(result, "ofAnother", Stream.concat(
                deciding.stream().filter(Subscription::belongsToAnotherAccount)
                        .map(Subscription::productId), products).sorted());
        put(result, "refresh", entitlements.refresh().stream()
                .map(one -> one.transactionId() + ":" + one.at() + ":" + one.reason()));
    }

    /** Puts the texts, empty where there is none, if any is not. */
    private static void put(Map<String, Object> result, String name, Stream<String> texts) {
        List<String> list = texts.map(text -> text == null ? "" : text).toList();
        if (list.stream().anyMatch(text -> !text.isEmpty())) {
            result.put(name, list);
        }
    }
}
