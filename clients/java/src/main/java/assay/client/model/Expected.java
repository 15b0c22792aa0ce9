package assay.client.model;

import java.util.List;

/**
 * Refuses an expectation that is given and empty: a user without an account token, or a list of which
 * nothing is left, would accept the purchases of all others.
 */
final class Expected {
    private Expected() {}

    /** Refuses what a caller gives, if it is null or empty, or has such an element. */
    static void given(String name, Object value) {
        if (value == null) {
            throw problem(name, "null");
        }
        if (value instanceof List<?> list && list.isEmpty()) {
            throw problem(name, "empty");
        }
        valueOrAbsent(name, value);
    }

    /** Refuses what is empty. Null, and a list without elements, is absent. */
    static void valueOrAbsent(String name, Object value) {
        if ("".equals(value) || value instanceof byte[] bytes && bytes.length == 0) {
            throw problem(name, "empty");
        }
        if (value instanceof List<?> list) {
            for (int index = 0; index < list.size(); index++) {
                given(name + "[" + index + "]", list.get(index));
            }
        }
    }

    private static IllegalArgumentException problem(String name, String what) {
        return new IllegalArgumentException(
                name + " is " + what + ": give a value, or leave it out to accept any");
    }
}
