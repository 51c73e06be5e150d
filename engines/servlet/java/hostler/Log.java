package hostler;

import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.StreamHandler;

/** What is logged, in lines that stand for themselves, on standard error. */
final class Log {
    private static final Logger ROOT = Logger.getLogger("");
    /** Kept: loggers that nobody holds lose their levels. */
    private static final Logger TOMCAT = Logger.getLogger("org.apache");
    private static final Logger COYOTE = Logger.getLogger("org.apache.coyote");
    private static final Logger OWN = Logger.getLogger("hostler");
    /** Frames of a stack that are shown for each of its causes. */
    private static final int FRAMES = 24;

    private Log() {
    }

    /** Has everything that is logged through java.util.logging, Tomcat's own lines among it, go to standard error. */
    static void begin() {
        for (Handler handler : ROOT.getHandlers()) {
            ROOT.removeHandler(handler);
        }
        Handler handler = new StreamHandler(System.err, new Lines()) {
            @Override
            public synchronized void publish(LogRecord record) {
                super.publish(record);
                flush();
            }
        };
        handler.setLevel(Level.ALL);
        ROOT.addHandler(handler);
        ROOT.setLevel(Level.INFO);
        // Start and stop are the front's to tell.
        TOMCAT.setLevel(Level.WARNING);
        COYOTE.setLevel(Level.WARNING);
    }

    static void info(String text) {
        OWN.info(text);
    }

    static void failed(String text, Throwable error) {
        OWN.log(Level.SEVERE, text, error);
    }

    static void failed(String text) {
        OWN.severe(text);
    }

    /** One line for a message, one for each cause and frame. */
    private static final class Lines extends Formatter {
        @Override
        public String format(LogRecord record) {
            StringBuilder text = new StringBuilder();
            String level = record.getLevel() == Level.INFO ? "" : record.getLevel().getName() + ": ";
            text.append(level).append(formatMessage(record)).append('\n');
            Throwable cause = record.getThrown();
            for (int depth = 0; cause != null && depth < 8; depth++, cause = cause.getCause()) {
                text.append(depth == 0 ? "  " : "  caused by ").append(cause).append('\n');
                StackTraceElement[] frames = cause.getStackTrace();
                for (int at = 0; at < frames.length && at < FRAMES; at++) {
                    text.append("    at ").append(frames[at]).append('\n');
                }
            }
            return text.toString();
        }
    }
}
