package hostler;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.ContextConfig;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.scan.StandardJarScanner;

/** An application in its host, which is deployed anew when its archive or its WEB-INF/web.xml changes. */
final class Deployment {
    private final Application application;
    private final StandardHost host;
    /** The site's own directory for what Tomcat writes. */
    private final File work;
    private final Gate gate;
    private StandardContext context;
    /** What is deployed, and what was there when it was last looked at: a file that is being written is left alone. */
    private Mark deployed = Mark.NONE;
    private Mark seen = Mark.NONE;

    Deployment(Application application, StandardHost host, File work) {
        this.application = application;
        this.host = host;
        this.work = work;
        gate = Gate.of(application);
    }

    /** A file's time and length. */
    private record Mark(long modified, long length) {
        static final Mark NONE = new Mark(0, 0);

        static Mark of(File file) {
            return new Mark(file.lastModified(), file.length());
        }
    }

    private Mark mark() {
        return Mark.of(application.isArchive() ? application.path() : new File(application.path(), "WEB-INF/web.xml"));
    }

    /** Adds it to its host; it starts with that. */
    void add() {
        deployed = mark();
        seen = deployed;
        try {
            String base = application.isArchive() ? copy().toString() : application.path().getAbsolutePath();
            context = context(base);
            host.addChild(context);
        } catch (IOException error) {
            Log.failed(application.title() + " cannot be deployed: " + why(error));
        } catch (RuntimeException error) {
            Log.failed(application.title() + " cannot be deployed", error);
        }
    }

    private static String why(IOException error) {
        if (error instanceof ZipException) {
            return "it is not a whole archive: " + error.getMessage();
        }
        return error.toString();
    }

    /**
     * A copy of the archive, which nobody changes while it is read: what is not a whole archive is refused before it takes the
     * place of one that was.
     */
    private Path copy() throws IOException {
        Path archives = work.toPath().resolve("archives");
        Files.createDirectories(archives);
        Path part = archives.resolve(application.key() + ".part");
        Path copy = archives.resolve(application.key() + ".war");
        Files.copy(application.path().toPath(), part, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
        try (ZipFile archive = new ZipFile(part.toFile())) {
            if (archive.getEntry("WEB-INF/") == null && archive.stream().noneMatch(entry -> entry.getName().startsWith("WEB-INF/"))) {
                Log.info(application.title() + " has no WEB-INF: its pages are served, it has no servlets");
            }
        } catch (IOException error) {
            Files.deleteIfExists(part);
            throw error;
        }
        Files.move(part, copy, StandardCopyOption.ATOMIC_MOVE);
        return copy;
    }

    private StandardContext context(String base) {
        StandardContext made = new StandardContext();
        made.setName(application.context());
        made.setPath(application.context());
        made.setDocBase(base);
        made.setWorkDir(new File(work, "work-" + application.key()).getAbsolutePath());
        made.addLifecycleListener(new Tomcat.DefaultWebXmlListener());
        ContextConfig config = new ContextConfig();
        // The defaults are set by the listener above.
        config.setDefaultWebXml("org/apache/catalina/startup/NO_DEFAULT_XML");
        made.addLifecycleListener(config);
        // Sessions are kept while it is not there. An application's own META-INF/context.xml may say otherwise.
        StandardManager sessions = new StandardManager();
        sessions.setPathname(new File(work, "sessions-" + application.key()).getAbsolutePath());
        made.setManager(sessions);
        made.setReloadable(application.flag("reloadable"));
        made.setParentClassLoader(Deployment.class.getClassLoader());
        // What Tomcat itself brings need not be searched for tags and fragments; the application's own jars are.
        StandardJarScanner scanner = new StandardJarScanner();
        scanner.setScanClassPath(false);
        scanner.setScanManifest(false);
        made.setJarScanner(scanner);
        File descriptor = new File(base, "META-INF/context.xml");
        if (descriptor.isFile()) {
            made.setConfigFile(toUrl(descriptor));
        } else if (application.isArchive()) {
            made.setConfigFile(inArchive(base));
        }
        application.parameters().forEach(made::addParameter);
        return made;
    }

    private static java.net.URL toUrl(File file) {
        try {
            return file.toURI().toURL();
        } catch (java.net.MalformedURLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static java.net.URL inArchive(String archive) {
        try (ZipFile file = new ZipFile(archive)) {
            if (file.getEntry("META-INF/context.xml") == null) {
                return null;
            }
            return new java.net.URL("jar:" + new File(archive).toURI() + "!/META-INF/context.xml");
        } catch (IOException error) {
            return null;
        }
    }

    /** Says so when it has not started; Tomcat has said why. */
    void report() {
        if (context != null && context.getState() != LifecycleState.STARTED) {
            Log.failed(application.title() + " has not started: its requests are answered with 404 until it is changed");
        }
    }

    /** Deploys it anew if it has changed and has been left alone since it was last looked at. */
    void look() {
        Mark now = mark();
        boolean settled = now.equals(seen);
        seen = now;
        if (!settled || now.equals(deployed) || now.equals(Mark.NONE)) {
            return;
        }
        deployed = now;
        if (context != null && isBroken()) {
            return;
        }
        Log.info(application.title() + " has changed, and is deployed anew");
        if (context != null && context.getState() == LifecycleState.STARTED) {
            reload();
        } else {
            replace();
        }
        report();
    }

    /** Requests that come meanwhile wait; sessions go on. */
    private void reload() {
        try {
            if (application.isArchive()) {
                String archive = copy().toString();
                context.setConfigFile(inArchive(archive));
                // Else what was unpacked before is started again.
                context.setDocBase(archive);
            }
            gate.closed(context::reload);
        } catch (IOException error) {
            Log.failed(application.title() + " goes on as it was: " + why(error));
        } catch (RuntimeException error) {
            Log.failed(application.title() + " could not be deployed anew", error);
        }
    }

    /** What has not started is made anew. */
    private void replace() {
        if (context != null) {
            try {
                host.removeChild(context);
                context.destroy();
            } catch (LifecycleException error) {
                Log.failed(application.title() + " could not be stopped", error);
            }
            context = null;
        }
        add();
    }

    /** An archive that cannot be read does not take the place of one that runs. */
    private boolean isBroken() {
        if (!application.isArchive()) {
            return false;
        }
        try {
            new ZipFile(application.path()).close();
            return false;
        } catch (IOException error) {
            Log.failed(application.title() + " goes on as it was: " + why(error));
            return true;
        }
    }
}
