package hostler;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.connector.CoyoteAdapter;
import org.apache.coyote.ProtocolHandler;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.tomcat.util.buf.ByteChunk;
import org.apache.tomcat.util.buf.HexUtils;

/**
 * Keeps an application's requests and its deployment apart. Tomcat itself has requests wait for an application that starts again, but
 * one that looks for its servlet just as that begins or ends gets 404.
 */
final class Gate {
    /** How long requests that are being answered hold up a deployment, in milliseconds: some are answered for ever. */
    private static final long PATIENCE = 2000;

    /** Those with the longest paths first: a request is of the first that it may be of. Replaced, never changed. */
    private static volatile List<Gate> all = List.of();

    private final byte[] context;
    /** In the order of their coming: a deployment waits for those that are there, and later ones for it. */
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);

    private Gate(byte[] context) {
        this.context = context;
    }

    /** Applications of several hosts under the same path have one. */
    static synchronized Gate of(Application application) {
        byte[] context = application.context().getBytes(StandardCharsets.UTF_8);
        for (Gate gate : all) {
            if (Arrays.equals(gate.context, context)) {
                return gate;
            }
        }
        Gate made = new Gate(context);
        List<Gate> gates = new ArrayList<>(all);
        gates.add(made);
        gates.sort(Comparator.comparingInt((Gate gate) -> gate.context.length).reversed());
        all = List.copyOf(gates);
        return made;
    }

    /** Runs it while no request of the application is begun. */
    void closed(Runnable deployment) {
        boolean alone = false;
        try {
            alone = lock.writeLock().tryLock(PATIENCE, TimeUnit.MILLISECONDS);
            deployment.run();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            if (alone) {
                lock.writeLock().unlock();
            }
        }
    }

    /** The one that a request goes through; {@code null}: it is of no application. */
    private static Gate before(Request request) {
        for (Gate gate : all) {
            if (gate.leadsTo(request)) {
                return gate;
            }
        }
        return null;
    }

    private boolean leadsTo(Request request) {
        // Its text must not be asked for: Tomcat then takes the path for one that needs no checks.
        ByteChunk path = request.requestURI().getByteChunk();
        int at = path.getStart();
        int end = path.getEnd();
        byte[] bytes = path.getBuffer();
        for (byte expected : context) {
            if (at == end) {
                return false;
            }
            int found = bytes[at++];
            if (found == '%' && end - at >= 2) {
                found = HexUtils.getDec(bytes[at]) << 4 | HexUtils.getDec(bytes[at + 1]);
                at += 2;
            }
            if ((byte) found != expected) {
                return false;
            }
        }
        return at == end || bytes[at] == '/' || bytes[at] == ';';
    }

    /** A connector whose requests go through the gates. */
    static final class Way extends Connector {
        Way(ProtocolHandler protocol) {
            super(protocol);
        }

        @Override
        protected void initInternal() throws LifecycleException {
            super.initInternal();
            adapter = new Adapter(this);
            protocolHandler.setAdapter(adapter);
        }
    }

    private static final class Adapter extends CoyoteAdapter {
        Adapter(Connector connector) {
            super(connector);
        }

        @Override
        public void service(Request request, Response response) throws Exception {
            // The virtual host's number is what the front calls the server. Tomcat would go by the field Host.
            if (!request.localName().isNull()) {
                request.serverName().duplicate(request.localName());
            }
            Gate gate = before(request);
            if (gate == null) {
                super.service(request, response);
                return;
            }
            Lock open = gate.lock.readLock();
            open.lock();
            try {
                super.service(request, response);
            } finally {
                open.unlock();
            }
        }
    }
}
