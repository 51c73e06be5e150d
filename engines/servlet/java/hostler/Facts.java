package hostler;

import jakarta.servlet.ServletException;
import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/**
 * What only the front knows of a request and what AJP has no place for.
 *
 * <p>The front calls the server by its own number of the virtual host, so that nobody's Host field chooses an application; the
 * name that the client has used comes beside it, and is what programs see. It also asks for the socket of {@link Upgrades} here,
 * and what comes over that one brings all its facts in a field.
 */
final class Facts extends ValveBase {
    /** The name that the client has used. */
    private static final String SERVER_NAME = "hostler.server_name";
    /** The front asks for the socket; and the field of the answer. */
    private static final String UPGRADES = "hostler.upgrades";
    private static final String SOCKET = "Hostler-Socket";
    /** All attributes that the front sends. A request with another one is refused. */
    static final String NAMES = "hostler\\.[a-z_]+";

    private final Upgrades upgrades;

    Facts(Upgrades upgrades) {
        super(true);
        this.upgrades = upgrades;
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        if (upgrades.has(request.getConnector())) {
            Told.take(request.getCoyoteRequest().getMimeHeaders()).apply(request);
        } else if (request.getAttribute(UPGRADES) != null) {
            name(response);
            return;
        }
        Object name = request.getAttribute(SERVER_NAME);
        if (name != null) {
            request.getCoyoteRequest().serverName().setString(name.toString());
            // Until here it was the virtual host's number, too.
            request.getCoyoteRequest().localName().setString(name.toString());
            request.removeAttribute(SERVER_NAME);
        }
        getNext().invoke(request, response);
    }

    private void name(Response response) {
        try {
            response.setHeader(SOCKET, upgrades.socket());
        } catch (IOException error) {
            Log.failed("other protocols than HTTP are not possible: " + error.getMessage());
            response.setStatus(503);
        }
    }
}
