package hostler;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.Map;
import org.apache.catalina.connector.Request;
import org.apache.catalina.realm.GenericPrincipal;
import org.apache.tomcat.util.http.MimeHeaders;

/** What the front tells of a request that comes over HTTP: as much as AJP has places for. */
final class Told {
    /** The field that it stands in, in the form of a query. */
    static final String FIELD = "Hostler-Facts";
    private static final String CERTIFICATES = "jakarta.servlet.request.X509Certificate";

    private final Map<String, String> facts = new HashMap<>();

    private Told() {
    }

    /**
     * Takes the field out of the request.
     *
     * @throws IOException there is none: it is not the front that asks
     */
    static Told take(MimeHeaders fields) throws IOException {
        String text = fields.getHeader(FIELD);
        if (text == null) {
            throw new IOException("a request without " + FIELD);
        }
        fields.removeHeader(FIELD);
        Told told = new Told();
        for (String fact : text.split("&")) {
            int cut = fact.indexOf('=');
            told.facts.put(fact.substring(0, cut), URLDecoder.decode(fact.substring(cut + 1), StandardCharsets.UTF_8));
        }
        return told;
    }

    /** Makes it the request's. */
    void apply(Request request) throws IOException {
        org.apache.coyote.Request coyote = request.getCoyoteRequest();
        String address = facts.getOrDefault("addr", "");
        request.setRemoteAddr(address);
        request.setRemoteHost(facts.getOrDefault("called", address));
        coyote.setRemotePort(Integer.parseInt(facts.getOrDefault("port", "0")));
        coyote.localAddr().setString(facts.getOrDefault("local", ""));
        coyote.serverName().setString(facts.getOrDefault("name", ""));
        coyote.localName().setString(facts.getOrDefault("name", ""));
        int port = Integer.parseInt(facts.getOrDefault("at", "0"));
        coyote.setServerPort(port);
        coyote.setLocalPort(port);
        MimeHeaders fields = coyote.getMimeHeaders();
        fields.removeHeader("Host");
        if (facts.containsKey("host")) {
            fields.addValue("Host").setString(facts.get("host"));
        }
        if (facts.containsKey("user")) {
            request.setUserPrincipal(new GenericPrincipal(facts.get("user")));
            request.setAuthType(facts.get("auth"));
        }
        if (facts.containsKey("cipher")) {
            coyote.scheme().setString("https");
            request.setSecure(true);
            request.setAttribute("jakarta.servlet.request.cipher_suite", facts.get("cipher"));
            certificate(request);
        } else {
            coyote.scheme().setString("http");
        }
    }

    private void certificate(Request request) throws IOException {
        String pem = facts.get("certificate");
        if (pem == null) {
            return;
        }
        try {
            ByteArrayInputStream bytes = new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII));
            X509Certificate one = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(bytes);
            request.setAttribute(CERTIFICATES, new X509Certificate[] {one});
        } catch (CertificateException error) {
            throw new IOException("the client's certificate cannot be read", error);
        }
    }
}
