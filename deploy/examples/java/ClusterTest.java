// Tests against a cluster of their own, with fabric8's client and JUnit 5:
//   watchglass run --simulate all -- mvn test
// In src/test/java; the project needs io.fabric8:kubernetes-client and org.junit.jupiter:junit-jupiter.
// This starter is kept by hand: the tests of this repository do not run it, since they bring no Maven.

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ClusterTest {
  @BeforeAll
  static void clusterIsOurs() {
    // KUBECONFIG alone might name a real cluster.
    assertNotNull(System.getenv("WATCHGLASS_SERVICE_ACCOUNT"), "start this with: watchglass run -- mvn test");
  }

  @Test
  void podRuns() {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      Pod pod = new PodBuilder()
          .withNewMetadata().withName("web").endMetadata()
          .withNewSpec().addNewContainer().withName("web").withImage("nginx").endContainer().endSpec()
          .build();
      client.pods().inNamespace("default").resource(pod).serverSideApply();
      client.pods().inNamespace("default").withName("web")
          .waitUntilCondition(found -> found != null && "Running".equals(found.getStatus().getPhase()), 1, TimeUnit.MINUTES);
    }
  }

  @Test
  void visitorMayDoNothing() {
    Config visitor = Config.autoConfigure("visitor");
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(visitor).build()) {
      KubernetesClientException refusal = assertThrows(
          KubernetesClientException.class, () -> client.secrets().inNamespace("default").list());
      assertEquals(403, refusal.getCode());
    }
  }
}
