package watchglasstest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"
)

func TestStart(t *testing.T) {
	cluster := Start(t, "--fault", "error,code=503,verb=list,resource=secrets")
	cluster.Apply(t, map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"name": "shop"},
	})
	if code := get(t, cluster, "/api/v1/namespaces/shop"); code != 200 {
		t.Fatalf("the namespace: %d", code)
	}
	cluster.WithFault(t, "error,code=429,verb=list,resource=namespaces", func() {
		if code := get(t, cluster, "/api/v1/namespaces"); code != 429 {
			t.Errorf("with a fault: %d", code)
		}
	})
	if code := get(t, cluster, "/api/v1/namespaces"); code != 200 {
		t.Errorf("without it: %d", code)
	}
	if code := get(t, cluster, "/api/v1/secrets"); code != 503 {
		t.Errorf("with the fault of the start: %d", code)
	}
}

func get(t *testing.T, cluster *Cluster, path string) int {
	t.Helper()
	authority, err := os.ReadFile(cluster.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(cluster.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodGet, cluster.Address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
