package hostler;

import java.io.File;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * An application as the configuration names it.
 *
 * @param host the name under which the front asks for its virtual host; never what a client has sent
 * @param context the path under which it is, empty for the whole host
 * @param path its archive or directory
 * @param options further words
 */
record Application(String host, String context, File path, Map<String, String> options) {
    private static final String PARAMETER = "parameter.";

    static Application read(String text) {
        String[] parts = text.split("\t");
        if (parts.length < 3) {
            throw new IllegalArgumentException("an application " + text);
        }
        Map<String, String> options = new LinkedHashMap<>();
        for (int at = 3; at < parts.length; at++) {
            int cut = parts[at].indexOf('=');
            options.put(parts[at].substring(0, cut), parts[at].substring(cut + 1));
        }
        return new Application(parts[0], parts[1], new File(parts[2]), options);
    }

    boolean isArchive() {
        return !path.isDirectory();
    }

    /** The descriptor of its context, where the configuration names one: its own does not count then. */
    Optional<File> descriptor() {
        return Optional.ofNullable(options.get("descriptor")).map(File::new);
    }

    boolean flag(String name) {
        return "true".equals(options.get(name));
    }

    /** Its initial parameters ({@code parameter.NAME=VALUE}). */
    Map<String, String> parameters() {
        Map<String, String> found = new LinkedHashMap<>();
        options.forEach((name, value) -> {
            if (name.startsWith(PARAMETER)) {
                found.put(name.substring(PARAMETER.length()), value);
            }
        });
        return found;
    }

    /** A name for files, different for each application of a site. */
    String key() {
        return host + (context.isEmpty() ? "-ROOT" : context.replace("/", "#"));
    }

    /** What people call it. */
    String title() {
        return path + " at " + (context.isEmpty() ? "/" : context);
    }
}
