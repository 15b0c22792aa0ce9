package assay.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** Makes TLS contexts from PEM files, which Java itself does not read. */
public final class Tls {
    private static final Pattern KEY = Pattern.compile(
            "-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

    private Tls() {}

    /** Returns a context that trusts the authorities in a PEM file. */
    public static SSLContext trusting(Path authorities)
            throws IOException, GeneralSecurityException {
        return context(trustOf(authorities), null);
    }

    /**
     * Returns a context that identifies the client.
     *
     * @param authorities the PEM file of the trusted authorities; null for the system's
     * @param certificate the PEM file of the client's certificate, with its chain
     * @param key the PEM file of its key, in PKCS #8 form ("BEGIN PRIVATE KEY")
     */
    public static SSLContext mutual(Path authorities, Path certificate, Path key)
            throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        char[] password = {};
        Certificate[] chain = certificates(certificate).toArray(Certificate[]::new);
        store.setKeyEntry("client", key(key), password, chain);
        KeyManagerFactory factory =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, password);
        return context(
                authorities == null ? null : trustOf(authorities), factory.getKeyManagers());
    }

    private static SSLContext context(TrustManager[] trust, KeyManager[] keys)
            throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys, trust, null);
        return context;
    }

    private static TrustManager[] trustOf(Path authorities)
            throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        int count = 0;
        for (Certificate authority : certificates(authorities)) {
            store.setCertificateEntry("authority" + count++, authority);
        }
        TrustManagerFactory factory =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path path)
            throws IOException, GeneralSecurityException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(path)));
    }

    private static PrivateKey key(Path path) throws IOException, GeneralSecurityException {
        Matcher pem = KEY.matcher(Files.readString(path, StandardCharsets.US_ASCII));
        if (!pem.find()) {
            throw new InvalidKeySpecException(path + " has no BEGIN PRIVATE KEY; convert it with "
                    + "openssl pkcs8 -topk8 -nocrypt");
        }
        PKCS8EncodedKeySpec encoded =
                new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
        for (String algorithm : List.of("EC", "RSA", "EdDSA")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
            } catch (InvalidKeySpecException error) {
                // A key of another algorithm.
            }
        }
        throw new InvalidKeySpecException(path + " has a key of an unknown algorithm");
    }
}
