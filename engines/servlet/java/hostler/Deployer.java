package hostler;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.apache.catalina.core.StandardHost;
import org.apache.tomcat.util.modeler.Registry;

/**
 * Answers for a host when Tomcat's manager application is one of the site's: it may start, stop and reload the others. Which
 * applications there are, the configuration says (ServletApp), so none is added or taken away.
 */
final class Deployer implements DeployerMBean {
    private final StandardHost host;
    /** Somebody is at these. */
    private final Set<String> serviced = ConcurrentHashMap.newKeySet();

    private Deployer(StandardHost host) {
        this.host = host;
    }

    /** Has it found under the name that the manager looks for. */
    static void add(String engine, StandardHost host) throws JMException {
        StandardMBean bean = new StandardMBean(new Deployer(host), DeployerMBean.class);
        ObjectName name = new ObjectName(engine + ":type=Deployer,host=" + host.getName());
        Registry.getRegistry(null).getMBeanServer().registerMBean(bean, name);
    }

    /** One that was would be the manager's to take away. */
    @Override
    public boolean isDeployed(String name) {
        return false;
    }

    @Override
    public boolean tryAddServiced(String name) throws IOException {
        if (host.findChild(name) == null) {
            throw new IOException("there is no application " + name + ": ServletApp says which there are");
        }
        return serviced.add(name);
    }

    @Override
    public void removeServiced(String name) {
        serviced.remove(name);
    }

    @Override
    public void check(String name) throws IOException {
        throw new IOException("ServletApp says which applications there are");
    }
}
