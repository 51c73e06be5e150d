package hostler;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import org.apache.catalina.Engine;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.Service;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;

/** Tomcat, with a connector at descriptor 0 and a host for each virtual host of the site. */
final class Container {
    /** How often archives and descriptors are looked at, in milliseconds. */
    private static final long LOOK = 1000;

    private final Main.Settings settings;
    private final Tomcat tomcat = new Tomcat();
    private final List<Deployment> deployments = new ArrayList<>();
    private volatile boolean started;

    Container(Main.Settings settings) {
        this.settings = settings;
    }

    /** Starts; requests that have come before wait in the socket's backlog until all applications are there. */
    void start() throws LifecycleException, IOException, JMException {
        Defaults.write(settings.work);
        tomcat.setBaseDir(settings.work);
        tomcat.setSilent(true);
        // What META-INF/context.xml names (pools of database connections) programs look up.
        tomcat.enableNaming();
        Service service = tomcat.getService();
        Engine engine = tomcat.getEngine();
        engine.setName("hostler");
        // The site's file of sessions, its classes: all is looked after now and then.
        engine.setBackgroundProcessorDelay(10);
        engine.getPipeline().addValve(new Facts(new Upgrades(settings, service)));
        Map<String, StandardHost> hosts = new HashMap<>();
        for (Application application : settings.applications) {
            StandardHost host = hosts.get(application.host());
            if (host == null) {
                host = host(application.host());
                hosts.put(application.host(), host);
                engine.addChild(host);
                Deployer.add(engine.getName(), host);
                if (hosts.size() == 1) {
                    engine.setDefaultHost(host.getName());
                }
            }
            deployments.add(new Deployment(application, host, settings));
        }
        started = true;
        tomcat.start();
        // One that cannot be started is none of the others' business: in a container that starts they would all fail with it.
        for (Deployment deployment : deployments) {
            deployment.add();
            deployment.report();
        }
        // Nobody is answered before all are there.
        Connector connector = connector();
        service.addConnector(connector);
        if (connector.getState() != LifecycleState.STARTED) {
            throw new IOException("there is no listening socket at descriptor 0");
        }
        Log.info("serving " + deployments.size() + (deployments.size() == 1 ? " application" : " applications"));
    }

    private StandardHost host(String name) throws IOException {
        StandardHost host = new StandardHost();
        host.setName(name);
        File base = new File(settings.work, "unpacked-" + name);
        Files.createDirectories(base.toPath());
        host.setAppBase(base.getAbsolutePath());
        host.setAutoDeploy(false);
        host.setDeployOnStartup(false);
        // What goes wrong is for the log. A page that says where in the program is for whoever attacks it.
        ErrorReportValve report = new ErrorReportValve();
        report.setShowReport(false);
        report.setShowServerInfo(false);
        host.getPipeline().addValve(report);
        host.setErrorReportValveClass(null);
        return host;
    }

    private Connector connector() {
        Ajp protocol = new Ajp();
        // Who may connect is who may enter the socket's directory: the site's user.
        protocol.setSecretRequired(false);
        protocol.setTomcatAuthentication(false);
        protocol.setAllowedRequestAttributesPattern(Facts.NAMES);
        protocol.setConnectionTimeout(-1);
        protocol.setKeepAliveTimeout(-1);
        protocol.setMaxThreads(settings.threads);
        protocol.setMinSpareThreads(1);
        protocol.setMaxConnections(-1);
        protocol.setAcceptCount(settings.backlog);
        Connector connector = new Gate.Way(protocol);
        connector.setProperty("useInheritedChannel", "true");
        // It is not bound again, nor is the path looked at: that there is one tells Tomcat what kind of socket it is.
        connector.setProperty("unixDomainSocketPath", new File(settings.work, "socket").getPath());
        connector.setURIEncoding("UTF-8");
        // The front has its own limit (LimitRequestBody) and its own timeouts.
        connector.setMaxPostSize(-1);
        connector.setXpoweredBy(false);
        connector.setEnableLookups(false);
        return connector;
    }

    /** Looks after the applications until the process is told to end. */
    void watch() throws InterruptedException {
        for (;;) {
            Thread.sleep(LOOK);
            for (Deployment deployment : deployments) {
                deployment.look();
            }
        }
    }

    /** Keeps the sessions, and ends. */
    void stop() {
        if (!started) {
            return;
        }
        try {
            tomcat.stop();
        } catch (LifecycleException | RuntimeException error) {
            Log.failed("the applications could not be stopped", error);
        }
    }
}
