package hostler;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.connector.CoyoteAdapter;
import org.apache.coyote.ProtocolHandler;
import org.apache.coyote.Request;
import org.apache.coyote.Response;

/**
 * Keeps requests and the deployment of applications apart. Tomcat itself has requests wait for an application that starts again, but
 * one that it has found a servlet for just before gets 404.
 */
final class Gate {
    /** How long requests that are being answered hold up a deployment, in milliseconds: some are answered for ever. */
    private static final long PATIENCE = 2000;

    /** In the order of their coming: a deployment waits for those that are there, and later ones for it. */
    private static final ReentrantReadWriteLock LOCK = new ReentrantReadWriteLock(true);

    private Gate() {
    }

    /** Runs it while no request is begun. */
    static void closed(Runnable deployment) {
        boolean alone = false;
        try {
            alone = LOCK.writeLock().tryLock(PATIENCE, TimeUnit.MILLISECONDS);
            deployment.run();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            if (alone) {
                LOCK.writeLock().unlock();
            }
        }
    }

    /** A connector whose requests go through the gate. */
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
            LOCK.readLock().lock();
            try {
                super.service(request, response);
            } finally {
                LOCK.readLock().unlock();
            }
        }
    }
}
