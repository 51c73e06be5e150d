package hostler;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.catalina.Context;
import org.apache.catalina.Lifecycle;
import org.apache.catalina.LifecycleEvent;
import org.apache.catalina.startup.Tomcat;

/** What holds for all applications unless they say otherwise: what a Tomcat that is not embedded has in its conf/web.xml. */
final class Defaults {
    private static final String TEXT = """
        <web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
          <request-character-encoding>UTF-8</request-character-encoding>
          <response-character-encoding>UTF-8</response-character-encoding>
          <servlet>
            <servlet-name>default</servlet-name>
            <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>
            <load-on-startup>1</load-on-startup>
          </servlet>
          <servlet>
            <servlet-name>jsp</servlet-name>
            <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class>
            <init-param><param-name>fork</param-name><param-value>false</param-value></init-param>
            <load-on-startup>3</load-on-startup>
          </servlet>
          <servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>
          <servlet-mapping>
            <servlet-name>jsp</servlet-name><url-pattern>*.jsp</url-pattern><url-pattern>*.jspx</url-pattern>
          </servlet-mapping>
          <session-config><session-timeout>30</session-timeout></session-config>
          <welcome-file-list>
            <welcome-file>index.html</welcome-file><welcome-file>index.htm</welcome-file><welcome-file>index.jsp</welcome-file>
          </welcome-file-list>
        </web-app>
        """;

    private Defaults() {
    }

    /** Where it is in the site's own directory. */
    static String file(String work) {
        return new File(work, "web.xml").getAbsolutePath();
    }

    static void write(String work) throws IOException {
        Files.writeString(Path.of(file(work)), TEXT);
    }

    /** Media types by the ends of names, before each start: an application's own come after them. */
    static void types(LifecycleEvent event) {
        if (Lifecycle.BEFORE_START_EVENT.equals(event.getType())) {
            Tomcat.addDefaultMimeTypeMappings((Context) event.getLifecycle());
        }
    }
}
