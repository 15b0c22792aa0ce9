package assay.client;

import assay.client.model.EvidenceKind;

/**
 * One item of evidence for a Resolve.
 *
 * @param evidence the bytes that the app or Apple sent
 * @param kind the kind of the evidence; null: the server detects it
 * @param label the caller's name for the item; null for none
 */
public record Item(byte[] evidence, EvidenceKind kind, String label) {
    /** Makes an item whose kind the server detects. */
    public static Item of(byte[] evidence) {
        return new Item(evidence, null, null);
    }
}
