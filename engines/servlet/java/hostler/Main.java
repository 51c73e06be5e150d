package hostler;

import java.io.File;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.List;

/**
 * One Tomcat for a site, listening at the Unix socket that is its descriptor 0.
 *
 * <p>Started by the program hostler-servlet, which has checked the arguments and named the jars. All it says goes to standard
 * error, a line each, and from there to the site's ErrorLog. It ends when it is told to by SIGTERM; sessions are kept then.
 */
public final class Main {
    private Main() {
    }

    /** Exit status for what the log has been told. */
    static final int FAILED = 1;

    /**
     * Serves until it is told to end.
     *
     * @param arguments {@code --work=DIRECTORY}, {@code --threads=N}, {@code --backlog=N}, {@code --migration=JAR}, and for each
     *     application {@code --app=HOST<TAB>CONTEXT<TAB>PATH} with {@code <TAB>NAME=VALUE} for its options
     */
    public static void main(String[] arguments) {
        Log.begin();
        // An archive that is replaced must not be read from memory.
        URLConnection.setDefaultUseCaches("jar", false);
        try {
            Container container = new Container(read(arguments));
            Runtime.getRuntime().addShutdownHook(new Thread(container::stop, "end"));
            container.start();
            container.watch();
        } catch (VirtualMachineError error) {
            throw error;
        } catch (Throwable error) {
            Log.failed("the servlet container cannot start", error);
            // The hook has nothing to save.
            Runtime.getRuntime().halt(FAILED);
        }
    }

    private static Settings read(String[] arguments) {
        Settings settings = new Settings();
        List<Application> applications = new ArrayList<>();
        for (String argument : arguments) {
            int cut = argument.indexOf('=');
            String name = cut < 0 ? argument : argument.substring(0, cut);
            String value = argument.substring(cut + 1);
            switch (name) {
                case "--work" -> settings.work = value;
                case "--threads" -> settings.threads = Integer.parseInt(value);
                case "--backlog" -> settings.backlog = Integer.parseInt(value);
                case "--migration" -> settings.migration = new File(value);
                case "--app" -> applications.add(Application.read(value));
                default -> throw new IllegalArgumentException("an argument " + argument);
            }
        }
        settings.applications = applications;
        return settings;
    }

    /** What the container is told. */
    static final class Settings {
        String work;
        int threads = 200;
        int backlog = 128;
        /** Tomcat's tool for older applications; {@code null}: it is not installed. */
        File migration;
        List<Application> applications = List.of();
    }
}
