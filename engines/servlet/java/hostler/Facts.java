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
 * name that the client has used comes beside it, and is what programs see.
 */
final class Facts extends ValveBase {
    /** The name that the client has used. */
    private static final String SERVER_NAME = "hostler.server_name";
    /** All attributes that the front sends. A request with another one is refused. */
    static final String NAMES = "hostler\\.[a-z_]+";

    Facts() {
        super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        Object name = request.getAttribute(SERVER_NAME);
        if (name != null) {
            request.getCoyoteRequest().serverName().setString(name.toString());
            request.removeAttribute(SERVER_NAME);
        }
        getNext().invoke(request, response);
    }
}
