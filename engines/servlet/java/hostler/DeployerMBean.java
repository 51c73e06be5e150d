package hostler;

import java.io.IOException;

/** What Tomcat's manager application asks the part of a host that deploys applications, under the names that it has there. */
public interface DeployerMBean {
    boolean isDeployed(String name);

    boolean tryAddServiced(String name) throws IOException;

    void removeServiced(String name);

    void check(String name) throws IOException;
}
