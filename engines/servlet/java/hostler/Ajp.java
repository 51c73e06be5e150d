package hostler;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ThreadPoolExecutor;
import org.apache.coyote.ajp.AbstractAjpProtocol;
import org.apache.juli.logging.LogFactory;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SocketBufferHandler;

/**
 * AJP as Tomcat speaks it, with fewer calls of the system for each answer.
 *
 * <p>Tomcat's own sends an answer's head, each piece of its body and its end by themselves, and has each wake the front. Here they go
 * together, as Tomcat does it over HTTP: when the answer ends, when the application flushes, or when the buffer is full. And
 * between two requests that follow each other closely a connection keeps its thread, in the place of one thread that looks at
 * all connections and wakes others for them.
 */
final class Ajp extends AbstractAjpProtocol<NioChannel> {
    /** How long a thread waits for its connection's next request, in milliseconds. */
    private static final long PATIENCE = 20;
    /** Kinds of messages, and what a message takes that holds none of a body: it is the application's flush. */
    private static final int BODY = 3;
    private static final int HEAD = 4;
    private static final int END = 5;
    private static final int EMPTY = 8;
    /** Where a message's kind stands. */
    private static final int KIND = 4;

    Ajp() {
        super(new Endpoint());
    }

    @Override
    protected org.apache.juli.logging.Log getLog() {
        return LogFactory.getLog("org.apache.coyote.ajp");
    }

    @Override
    protected String getNamePrefix() {
        return "ajp";
    }

    /** Makes connections of our own kind. */
    private static final class Endpoint extends NioEndpoint {
        @Override
        protected boolean setSocketOptions(SocketChannel socket) {
            try {
                Connection connection = new Connection(channel(), this, socket);
                connections.put(socket, connection);
                getPoller().register(connection);
                return true;
            } catch (IOException | RuntimeException error) {
                // It is closed by whoever has accepted it.
                connections.remove(socket);
                Log.failed("a connection of the server is refused", error);
                return false;
            }
        }

        private NioChannel channel() {
            NioChannel channel = getNioChannels() == null ? null : getNioChannels().pop();
            if (channel != null) {
                return channel;
            }
            return new NioChannel(new SocketBufferHandler(socketProperties.getAppReadBufSize(),
                socketProperties.getAppWriteBufSize(), socketProperties.getDirectBuffer()));
        }

        /** Whether requests wait for a thread. */
        boolean isCrowded() {
            return getExecutor() instanceof ThreadPoolExecutor pool && !pool.getQueue().isEmpty();
        }
    }

    private static final class Connection extends NioEndpoint.NioSocketWrapper {
        private final Endpoint endpoint;
        /** For the next request of this connection alone. */
        private final Selector next;
        /** What was written last can wait for what follows it. */
        private boolean waits;
        /** An answer has ended, and the next request has not begun. */
        private boolean between;

        Connection(NioChannel channel, Endpoint endpoint, SocketChannel socket) throws IOException {
            super(channel, endpoint);
            this.endpoint = endpoint;
            channel.reset(socket, this);
            socket.configureBlocking(false);
            setReadTimeout(endpoint.getConnectionTimeout());
            setWriteTimeout(endpoint.getConnectionTimeout());
            setKeepAliveLeft(endpoint.getMaxKeepAliveRequests());
            next = socket.provider().openSelector();
            socket.register(next, SelectionKey.OP_READ);
        }

        @Override
        protected void writeBlocking(byte[] message, int from, int length) throws IOException {
            int kind = message[from + KIND];
            waits = kind == HEAD || kind == BODY && length > EMPTY;
            between = kind == END;
            super.writeBlocking(message, from, length);
        }

        @Override
        protected void writeNonBlocking(byte[] message, int from, int length) throws IOException {
            waits = false;
            super.writeNonBlocking(message, from, length);
        }

        @Override
        public boolean flush(boolean blocks) throws IOException {
            return waits && blocks ? false : super.flush(blocks);
        }

        @Override
        public int read(boolean blocks, byte[] space, int from, int length) throws IOException {
            if (between && !blocks && socketBufferHandler.isReadBufferEmpty()
                && !endpoint.isCrowded()) {
                await();
            }
            between = false;
            return super.read(blocks, space, from, length);
        }

        private void await() throws IOException {
            try {
                next.select(key -> { }, PATIENCE);
            } catch (ClosedSelectorException error) {
                throw new IOException(error);
            }
        }

        @Override
        protected void doClose() {
            try {
                // Before the channel: what a selector knows is not closed yet.
                next.close();
            } catch (IOException error) {
                Log.failed("a connection is not closed as it should be", error);
            }
            super.doClose();
        }
    }
}
