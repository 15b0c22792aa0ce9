package assay.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, longs, doubles and booleans; for tests. */
final class Json {
    private final String text;
    private int position;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.space();
        if (json.position != text.length()) {
            throw new IllegalArgumentException("text after JSON: " + text);
        }
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return value == null ? Map.of() : (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return value == null ? List.of() : (List<Object>) value;
    }

    private void space() {
        while (position < text.length() && text.charAt(position) <= ' ') {
            position++;
        }
    }

    private boolean take(char wanted) {
        space();
        if (text.charAt(position) != wanted) {
            return false;
        }
        position++;
        return true;
    }

    private Object value() {
        if (take('{')) {
            Map<String, Object> members = new LinkedHashMap<>();
            while (!take('}')) {
                take(',');
                space();
                String name = (String) value();
                take(':');
                members.put(name, value());
            }
            return members;
        }
        if (take('[')) {
            List<Object> elements = new ArrayList<>();
            while (!take(']')) {
                take(',');
                elements.add(value());
            }
            return elements;
        }
        return take('"') ? string() : word();
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        for (char next = text.charAt(position++); next != '"'; next = text.charAt(position++)) {
            if (next != '\\') {
                out.append(next);
                continue;
            }
            char escaped = text.charAt(position++);
            if (escaped == 'u') {
                out.append((char) Integer.parseInt(text.substring(position, position + 4), 16));
                position += 4;
            } else {
                int index = "bfnrt".indexOf(escaped);
                out.append(index < 0 ? escaped : "\b\f\n\r\t".charAt(index));
            }
        }
        return out.toString();
    }

    private Object word() {
        int start = position;
        while (position < text.length() && ",]} \n".indexOf(text.charAt(position)) < 0) {
            position++;
        }
        String word = text.substring(start, position);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        };
    }

    /** Writes a value. Members that are null are left out. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> members) {
            String separator = "{";
            for (Map.Entry<?, ?> member : members.entrySet()) {
                if (member.getValue() != null) {
                    out.append(separator);
                    write(member.getKey(), out);
                    out.append(':');
                    write(member.getValue(), out);
                    separator = ",";
                }
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof List<?> elements) {
            out.append('[');
            for (int index = 0; index < elements.size(); index++) {
                out.append(index == 0 ? "" : ",");
                write(elements.get(index), out);
            }
            out.append(']');
        } else if (value instanceof String string) {
            writeString(string, out);
        } else {
            out.append(value);
        }
    }

    private static void writeString(String string, StringBuilder out) {
        out.append('"');
        for (char character : string.toCharArray()) {
            if (character < ' ' || character == '"' || character == '\\' || character > '~') {
                out.append(String.format("\\u%04x", (int) character));
            } else {
                out.append(character);
            }
        }
        out.append('"');
    }
}
