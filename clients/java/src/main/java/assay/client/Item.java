package assay.client;

import assay.client.model.EvidenceKind;
import java.util.Objects;

/**
 * One item of evidence for a Resolve.
 *
 * @param evidence the bytes that the app or Apple sent
 * @param kind the kind of the evidence; null: the server detects it
 * @param label the caller's name for the item; null for none
 */
public record Item(byte[] evidence, EvidenceKind kind, String label) {
    /**
     * Makes an item.
     *
     * @throws NullPointerException if the evidence is null
     */
    public Item {
        Objects.requireNonNull(evidence, "the evidence of an item is null");
    }

    /** Makes an item whose kind the server detects. */
    public static Item of(byte[] evidence) {
        return new Item(evidence, null, null);
    }
}
