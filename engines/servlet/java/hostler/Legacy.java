package hostler;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/**
 * Applications for servers before Tomcat 10, whose packages are called {@code javax.servlet} and not {@code jakarta.servlet}. Tomcat's
 * own tool makes applications for this one of them; it is loaded when it is needed, and no application sees it.
 */
final class Legacy {
    private static final String TOOL = "org.apache.tomcat.jakartaee.Migration";

    /** What an application asks for, as far as it has been read. */
    private boolean old;
    private boolean current;

    private Legacy() {
    }

    /**
     * Whether an archive or a directory asks for the old packages, and for none of the current ones: what knows both has been made for
     * both.
     *
     * @param memory where the answer is kept: what asks for neither has to be read whole, and most starts find the same files
     */
    static boolean is(File application, Path memory) throws IOException {
        String files = application.isDirectory() ? describe(application.toPath()) : Source.describe(application.toPath());
        String old = files + " old";
        String other = files + " not old";
        String known = Files.exists(memory) ? Files.readString(memory) : "";
        if (!known.equals(old) && !known.equals(other)) {
            known = is(application) ? old : other;
            Files.writeString(memory, known);
        }
        return known.equals(old);
    }

    /** Names, times and lengths of the files that are looked at, a line each. */
    private static String describe(Path application) throws IOException {
        StringBuilder text = new StringBuilder();
        try (Stream<Path> files = Files.walk(application)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile).sorted()::iterator) {
                String name = application.relativize(file).toString();
                if (asks(name)) {
                    text.append(Source.describe(file)).append(' ').append(name).append('\n');
                }
            }
        }
        return text.toString();
    }

    private static boolean is(File application) throws IOException {
        Legacy found = new Legacy();
        if (application.isDirectory()) {
            found.lookInto(application.toPath());
        } else {
            found.lookIntoArchive(application);
        }
        return found.old && !found.current;
    }

    private void lookIntoArchive(File application) throws IOException {
        try (ZipFile archive = new ZipFile(application)) {
            Enumeration<? extends ZipEntry> entries = archive.entries();
            while (!current && entries.hasMoreElements()) {
                ZipEntry entry = entries.nextElement();
                if (asks(entry.getName())) {
                    try (InputStream content = archive.getInputStream(entry)) {
                        look(entry.getName(), content);
                    }
                }
            }
        }
    }

    private void lookInto(Path application) throws IOException {
        try (Stream<Path> files = Files.walk(application)) {
            Iterator<Path> each = files.filter(Files::isRegularFile).iterator();
            while (!current && each.hasNext()) {
                Path file = each.next();
                String name = application.relativize(file).toString();
                if (asks(name)) {
                    try (InputStream content = Files.newInputStream(file)) {
                        look(name, content);
                    }
                }
            }
        }
    }

    /** Whether a file of an application can ask for packages. */
    private static boolean asks(String name) {
        return name.startsWith("WEB-INF/lib/") && name.endsWith(".jar")
            || name.startsWith("WEB-INF/classes/") && name.endsWith(".class")
            || isPage(name);
    }

    private static boolean isPage(String name) {
        return name.endsWith(".jsp") || name.endsWith(".jspx") || name.endsWith(".jspf") || name.endsWith(".tag")
            || name.endsWith(".tagx");
    }

    private void look(String name, InputStream content) throws IOException {
        if (!name.endsWith(".jar")) {
            look(content.readAllBytes(), isPage(name) ? '.' : '/');
            return;
        }
        ZipInputStream jar = new ZipInputStream(content);
        for (ZipEntry entry = jar.getNextEntry(); entry != null && !current; entry = jar.getNextEntry()) {
            if (entry.getName().endsWith(".class")) {
                look(jar.readAllBytes(), '/');
            }
        }
    }

    private void look(byte[] content, char separator) {
        String text = new String(content, StandardCharsets.ISO_8859_1);
        current |= text.contains("jakarta" + separator + "servlet" + separator);
        old |= text.contains("javax" + separator + "servlet" + separator);
    }

    /**
     * Makes an application for this server of one for older ones.
     *
     * @param tool the archive of Tomcat's tool
     */
    static void convert(File tool, File application, File converted) throws IOException {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {tool.toURI().toURL()})) {
            Class<?> type = loader.loadClass(TOOL);
            Object migration = type.getConstructor().newInstance();
            type.getMethod("setSource", File.class).invoke(migration, application);
            type.getMethod("setDestination", File.class).invoke(migration, converted);
            type.getMethod("execute").invoke(migration);
            if (!(boolean) type.getMethod("hasConverted").invoke(migration)) {
                throw new IOException("nothing of it can be converted for Jakarta EE");
            }
        } catch (InvocationTargetException error) {
            throw new IOException("it cannot be made an application for Jakarta EE: " + error.getCause(), error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IOException(tool + " is not the tool that it should be", error);
        }
    }
}
