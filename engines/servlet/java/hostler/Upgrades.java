package hostler;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.Service;
import org.apache.catalina.connector.Connector;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;

/**
 * The connector for requests that ask for another protocol (WebSocket), which AJP has no way for: made when the first one comes,
 * at a socket in the site's own folder, where nobody but the site's user comes to.
 */
final class Upgrades {
    /** The longest path of a Unix socket, in bytes. */
    private static final int LONGEST = 107;
    /** A request's line and fields, in bytes: the front has limits of its own. */
    private static final int HEAD = 128 << 10;
    /** What the front lets pass in a target, and Tomcat's HTTP would not. */
    private static final String RELAXED = "\"<>[\\]^`{|}";

    private final Main.Settings settings;
    private final Service service;
    private Connector connector;

    Upgrades(Main.Settings settings, Service service) {
        this.settings = settings;
        this.service = service;
    }

    /** Whether requests of this connector are of this kind. */
    boolean has(Connector other) {
        return other == connector;
    }

    /**
     * The path of its socket, relative to the site's state directory if it is there.
     *
     * @throws IOException it cannot be made: why
     */
    synchronized String socket() throws IOException {
        File path = new File(settings.work, "upgrades");
        if (connector != null && connector.getState() == LifecycleState.STARTED) {
            return name(path);
        }
        if (path.getPath().getBytes(StandardCharsets.UTF_8).length > LONGEST) {
            throw new IOException(path + " is too long for a socket: give ServletApp a shorter work=DIRECTORY");
        }
        // One that has been left behind: the folder is this virtual machine's alone.
        Files.deleteIfExists(path.toPath());
        connector = connector(path);
        service.addConnector(connector);
        if (connector.getState() != LifecycleState.STARTED) {
            service.removeConnector(connector);
            throw new IOException(path + ": there can be no socket");
        }
        return name(path);
    }

    private static String name(File path) {
        String state = System.getenv("HOSTLER_STATE");
        String own = path.getPath();
        return state != null && own.startsWith(state + "/") ? own.substring(state.length() + 1) : own;
    }

    private Connector connector(File path) throws IOException {
        Http11NioProtocol protocol = new Protocol();
        protocol.setMaxThreads(settings.threads);
        protocol.setMinSpareThreads(1);
        // The front has the limits.
        protocol.setMaxConnections(-1);
        protocol.setAcceptCount(settings.backlog);
        protocol.setMaxHttpHeaderSize(HEAD);
        protocol.setRelaxedPathChars(RELAXED);
        protocol.setRelaxedQueryChars(RELAXED);
        Connector made = new Gate.Way(protocol);
        made.setProperty("unixDomainSocketPath", path.getPath());
        made.setProperty("unixDomainSocketPathPermissions", "rw-------");
        // Quirk(tomcat): it compares the folder's owner, as a name, with the user's, which without an entry in passwd is "?". Whose
        // folder it is the program that has started this one has looked at.
        String owner = Files.getOwner(path.toPath().getParent()).getName();
        made.setProperty("unixDomainSocketParentOwner", owner);
        made.setURIEncoding("UTF-8");
        made.setXpoweredBy(false);
        made.setEnableLookups(false);
        return made;
    }

    /** HTTP that leaves addresses and ports as the front has told them ({@link Told}): a Unix socket has none. */
    private static final class Protocol extends Http11NioProtocol {
        @Override
        protected Processor createProcessor() {
            return new Http11Processor(this, getAdapter()) {
                @Override
                protected boolean getPopulateRequestAttributesFromSocket() {
                    return false;
                }
            };
        }
    }
}
