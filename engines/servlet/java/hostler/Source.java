package hostler;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/** What an application is made of: its archive or directory, and the descriptor that configures its context. */
final class Source {
    private static final String DESCRIPTOR = "META-INF/context.xml";

    private final Application application;
    /** The site's own directory for what Tomcat writes. */
    private final Path work;
    /** What makes applications for this server of older ones; {@code null}: it is not installed. */
    private final File tool;

    Source(Application application, Main.Settings settings) {
        this.application = application;
        work = Path.of(settings.work);
        tool = settings.migration;
    }

    /** Times and lengths of the files that tell when it has changed. */
    record Mark(List<Long> facts) {
        static final Mark NONE = new Mark(List.of());

        /** Whether there is nothing. */
        boolean isNone() {
            return facts.stream().allMatch(fact -> fact == 0);
        }
    }

    Mark mark() {
        List<File> files = new ArrayList<>();
        if (application.isArchive()) {
            files.add(application.path());
        } else {
            files.add(new File(application.path(), "WEB-INF/web.xml"));
            files.add(new File(application.path(), DESCRIPTOR));
        }
        application.descriptor().ifPresent(files::add);
        List<Long> facts = new ArrayList<>();
        for (File file : files) {
            facts.add(file.lastModified());
            facts.add(file.length());
        }
        return new Mark(facts);
    }

    /** An archive that cannot be read does not take the place of one that runs. */
    void check() throws IOException {
        if (application.isArchive()) {
            new ZipFile(application.path()).close();
        }
    }

    /** What Tomcat is to serve: the directory, or a copy of the archive; for this server, whatever it was made for. */
    String base() throws IOException {
        return (application.isArchive() ? copy() : directory()).toString();
    }

    /**
     * A copy of the archive, which nobody changes while it is read: what is not a whole archive is refused before it takes the
     * place of one that was.
     */
    private Path copy() throws IOException {
        Path archives = Files.createDirectories(work.resolve("archives"));
        // By its name the tool knows what it is.
        Path part = archives.resolve(application.key() + ".part.war");
        Path copy = archives.resolve(application.key() + ".war");
        Files.copy(application.path().toPath(), part, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
        Path converted = archives.resolve(application.key() + ".converted");
        try {
            look(part);
            if (isConverted(part, copy, converted)) {
                Files.delete(part);
                return copy;
            }
            Files.deleteIfExists(converted);
            if (isLegacy(part.toFile())) {
                String mark = describe(part);
                convert(part, archives.resolve(application.key() + ".new.war"));
                Files.writeString(converted, mark);
            }
        } catch (IOException error) {
            Files.deleteIfExists(part);
            throw error;
        }
        Files.move(part, copy, StandardCopyOption.ATOMIC_MOVE);
        return copy;
    }

    private void look(Path archive) throws IOException {
        try (ZipFile file = new ZipFile(archive.toFile())) {
            if (file.getEntry("WEB-INF/") == null && file.stream().noneMatch(entry -> entry.getName().startsWith("WEB-INF/"))) {
                Log.info(application.title() + " has no WEB-INF: its pages are served, it has no servlets");
            }
        }
    }

    /** Whether the copy that is there was made of this archive. */
    private static boolean isConverted(Path archive, Path copy, Path converted) throws IOException {
        return Files.exists(copy) && Files.exists(converted) && Files.readString(converted).equals(describe(archive));
    }

    /** Its time and length. */
    static String describe(Path archive) throws IOException {
        return Files.getLastModifiedTime(archive).toMillis() + " " + Files.size(archive);
    }

    /** Puts an archive for this server into the place of an older one; with its time, by which Tomcat sees that it is another. */
    private void convert(Path archive, Path fresh) throws IOException {
        FileTime time = Files.getLastModifiedTime(archive);
        Legacy.convert(tool, archive.toFile(), fresh.toFile());
        Files.setLastModifiedTime(fresh, time);
        Files.move(fresh, archive, StandardCopyOption.ATOMIC_MOVE);
    }

    private Path directory() throws IOException {
        File own = application.path().getAbsoluteFile();
        if (!isLegacy(own)) {
            return own.toPath();
        }
        Path converted = work.resolve("converted-" + application.key());
        remove(converted);
        Legacy.convert(tool, own, converted.toFile());
        return converted;
    }

    private static void remove(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        List<Path> all;
        try (Stream<Path> found = Files.walk(directory)) {
            all = new ArrayList<>(found.toList());
        }
        // What is in a directory comes after it.
        for (int at = all.size() - 1; at >= 0; at--) {
            Files.delete(all.get(at));
        }
    }

    /** Whether it is for older servers, and can be made one for this one. */
    private boolean isLegacy(File what) throws IOException {
        if (!Legacy.is(what, work.resolve("legacy-" + application.key()))) {
            return false;
        }
        if (tool == null) {
            Log.failed(application.title() + " is for servers before Tomcat 10 (javax.servlet, not jakarta.servlet), and will hardly work:"
                + " install the package tomcat-jakartaee-migration, and it is converted when it is deployed");
            return false;
        }
        Log.info(application.title() + " is for servers before Tomcat 10 (javax.servlet), and is converted");
        return true;
    }

    /** Where the context's descriptor is: what the configuration names, or what the application brings. {@code null}: there is none. */
    URL descriptor(String base) {
        try {
            if (application.descriptor().isPresent()) {
                return application.descriptor().get().toURI().toURL();
            }
            File own = new File(base, DESCRIPTOR);
            if (own.isFile()) {
                return own.toURI().toURL();
            }
            return application.isArchive() ? inArchive(base) : null;
        } catch (MalformedURLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static URL inArchive(String archive) throws MalformedURLException {
        try (ZipFile file = new ZipFile(archive)) {
            if (file.getEntry(DESCRIPTOR) == null) {
                return null;
            }
            return new URL("jar:" + new File(archive).toURI() + "!/" + DESCRIPTOR);
        } catch (MalformedURLException error) {
            throw error;
        } catch (IOException error) {
            return null;
        }
    }

    static String why(IOException error) {
        if (error instanceof ZipException) {
            return "it is not a whole archive: " + error.getMessage();
        }
        return error.toString();
    }
}
