package assay.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;

/** Runs all tests: a class has a map of them by name. Exits with 1 if one fails. */
public final class Tests {
    /** A test. */
    interface Test {
        void run() throws Exception;
    }

    private Tests() {}

    /** Runs the tests whose names contain the argument, if there is one. */
    public static void main(String[] arguments) {
        Map<String, Test> tests = new LinkedHashMap<>();
        tests.putAll(GoldenTests.all());
        tests.putAll(CodecTests.all());
        tests.putAll(ClientTests.all());
        tests.putAll(FakeTests.all());
        int failed = 0;
        for (Map.Entry<String, Test> test : tests.entrySet()) {
            if (arguments.length > 0 && !test.getKey().contains(arguments[0])) {
                continue;
            }
            try {
                test.getValue().run();
            } catch (Exception | AssertionError error) {
                failed++;
                System.out.println("FAILED: " + test.getKey());
                error.printStackTrace(System.out);
            }
        }
        System.out.println(tests.size() + " tests, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    static void expect(boolean condition, Object what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object actual, Object expected) {
        expect(Objects.equals(actual, expected), actual + ", not " + expected);
    }

    static <E extends Throwable> void fails(Class<E> kind, Predicate<E> isExpected, Test test) {
        try {
            test.run();
        } catch (Throwable error) {
            expect(kind.isInstance(error) && isExpected.test(kind.cast(error)), error);
            return;
        }
        throw new AssertionError("nothing was thrown");
    }
}
