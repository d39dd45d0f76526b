// Tests against a cluster of their own, with client-go:
//
//	go mod tidy && watchglass run --simulate all -- go test ./...
//
// This starter is kept by hand: the tests of this repository do not run it, since they bring no Go.
package starter

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// clientOf reads KUBECONFIG; its contexts are those of an administrator and of a visitor.
func clientOf(t *testing.T, contextName string) *kubernetes.Clientset {
	t.Helper()
	if os.Getenv("WATCHGLASS_SERVICE_ACCOUNT") == "" {
		t.Fatal("start this with: watchglass run -- go test ./...")
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{CurrentContext: contextName}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestPodRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pods := clientOf(t, "").CoreV1().Pods("default")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.ListOptions{FieldSelector: "metadata.name=web", ResourceVersion: created.ResourceVersion}
	watching, err := pods.Watch(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	for event := range watching.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			return
		}
	}
	t.Fatal("the pod does not run")
}

func TestVisitorMayDoNothing(t *testing.T) {
	_, err := clientOf(t, "visitor").CoreV1().Secrets("default").List(context.Background(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("not forbidden: %v", err)
	}
}
