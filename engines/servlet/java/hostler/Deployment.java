package hostler;

import java.io.File;
import java.io.IOException;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.ContextConfig;
import org.apache.tomcat.util.scan.StandardJarScanner;

/** An application in its host, which is deployed anew when its archive or one of its descriptors changes. */
final class Deployment {
    private final Application application;
    private final StandardHost host;
    private final Main.Settings settings;
    private final Source source;
    private final Gate gate;
    private StandardContext context;
    /** What is deployed, and what was there when it was last looked at: a file that is being written is left alone. */
    private Source.Mark deployed = Source.Mark.NONE;
    private Source.Mark seen = Source.Mark.NONE;

    Deployment(Application application, StandardHost host, Main.Settings settings) {
        this.application = application;
        this.host = host;
        this.settings = settings;
        source = new Source(application, settings);
        gate = Gate.of(application);
    }

    /** Adds it to its host; it starts with that. */
    void add() {
        deployed = source.mark();
        seen = deployed;
        try {
            add(source.base());
        } catch (IOException error) {
            Log.failed(application.title() + " cannot be deployed: " + Source.why(error));
        } catch (RuntimeException error) {
            Log.failed(application.title() + " cannot be deployed", error);
        }
    }

    private void add(String base) {
        context = context(base);
        host.addChild(context);
    }

    private StandardContext context(String base) {
        StandardContext made = new StandardContext();
        made.setName(application.context());
        made.setPath(application.context());
        made.setDocBase(base);
        made.setWorkDir(new File(settings.work, "work-" + application.key()).getAbsolutePath());
        ContextConfig config = new ContextConfig();
        config.setDefaultWebXml(Defaults.file(settings.work));
        made.addLifecycleListener(Defaults::types);
        made.addLifecycleListener(config);
        // Sessions are kept while it is not there. An application's own META-INF/context.xml may say otherwise.
        StandardManager sessions = new StandardManager();
        sessions.setPathname(new File(settings.work, "sessions-" + application.key()).getAbsolutePath());
        made.setManager(sessions);
        made.setReloadable(application.flag("reloadable"));
        made.setParentClassLoader(Deployment.class.getClassLoader());
        // What Tomcat itself brings need not be searched for tags and fragments; the application's own jars are.
        StandardJarScanner scanner = new StandardJarScanner();
        scanner.setScanClassPath(false);
        scanner.setScanManifest(false);
        made.setJarScanner(scanner);
        made.setConfigFile(source.descriptor(base));
        application.parameters().forEach(made::addParameter);
        return made;
    }

    /** Says so when it has not started; Tomcat has said why. */
    void report() {
        if (context != null && context.getState() != LifecycleState.STARTED) {
            Log.failed(application.title() + " has not started: its requests are answered with 404 until it is changed");
        }
    }

    /** Deploys it anew if it has changed and has been left alone since it was last looked at. */
    void look() {
        Source.Mark now = source.mark();
        boolean settled = now.equals(seen);
        seen = now;
        if (!settled || now.equals(deployed) || now.isNone()) {
            return;
        }
        deployed = now;
        String base;
        try {
            source.check();
            Log.info(application.title() + " has changed, and is deployed anew");
            base = source.base();
        } catch (IOException error) {
            Log.failed(application.title() + " goes on as it was: " + Source.why(error));
            return;
        }
        // Requests that come meanwhile wait; sessions go on.
        gate.closed(() -> replace(base));
        report();
    }

    private void replace(String base) {
        try {
            if (context != null) {
                host.removeChild(context);
                context.destroy();
            }
        } catch (LifecycleException error) {
            Log.failed(application.title() + " could not be stopped", error);
        }
        context = null;
        try {
            add(base);
        } catch (RuntimeException error) {
            Log.failed(application.title() + " could not be deployed anew", error);
        }
    }
}
