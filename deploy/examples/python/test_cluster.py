"""Tests against a cluster of their own: watchglass run --simulate all -- pytest deploy/examples/python

They need pytest and the package kubernetes, and stop where no cluster was made for them: KUBECONFIG alone might name a real one.
"""

import os
import urllib.request
from contextlib import contextmanager

import pytest
from kubernetes import client, config, watch


@pytest.fixture(scope="session", autouse=True)
def cluster():
    if "WATCHGLASS_SERVICE_ACCOUNT" not in os.environ:
        pytest.exit("start this with: watchglass run -- pytest", returncode=2)
    config.load_kube_config()


@pytest.fixture
def namespace(request):
    """A namespace of each test's own: it goes with all that is in it."""
    core = client.CoreV1Api()
    name = request.node.name.replace("_", "-")
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    yield name
    core.delete_namespace(name)


@pytest.fixture
def fault():
    """Switches a fault on for a block: with fault("error,code=429,verb=list"): ..."""

    def replace(rules):
        address = os.environ["WATCHGLASS_ADMIN"] + "/faults"
        urllib.request.urlopen(urllib.request.Request(address, rules.encode(), method="PUT"))

    @contextmanager
    def block(rule):
        replace(rule)
        try:
            yield
        finally:
            replace("")

    return block


def test_too_many_requests(fault):
    core = client.CoreV1Api()
    with fault("error,code=429,verb=list,resource=pods"):
        with pytest.raises(client.ApiException) as refusal:
            core.list_namespaced_pod("default")
    assert refusal.value.status == 429
    core.list_namespaced_pod("default")


def test_a_deployment_has_pods_that_run(namespace):
    labels = {"app": "web"}
    pod = client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")])
    client.AppsV1Api().create_namespaced_deployment(
        namespace,
        client.V1Deployment(
            metadata=client.V1ObjectMeta(name="web"),
            spec=client.V1DeploymentSpec(
                replicas=2,
                selector=client.V1LabelSelector(match_labels=labels),
                template=client.V1PodTemplateSpec(
                    metadata=client.V1ObjectMeta(labels=labels), spec=pod
                ),
            ),
        ),
    )
    running = set()
    watcher = watch.Watch()
    for event in watcher.stream(client.CoreV1Api().list_namespaced_pod, namespace):
        if event["object"].status.phase == "Running":
            running.add(event["object"].metadata.name)
        if len(running) == 2:
            watcher.stop()
    assert len(running) == 2


def test_what_is_wrong_is_refused(namespace):
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="No_Such_Name"),
        spec=client.V1PodSpec(containers=[client.V1Container(name="a", image="a")]),
    )
    with pytest.raises(client.ApiException) as refusal:
        client.CoreV1Api().create_namespaced_pod(namespace, pod)
    assert refusal.value.status == 422
    assert "a lowercase RFC 1123 subdomain" in refusal.value.body


def test_a_visitor_may_do_nothing(namespace):
    visitor = client.CoreV1Api(config.new_client_from_config(context="visitor"))
    with pytest.raises(client.ApiException) as refusal:
        visitor.list_namespaced_secret(namespace)
    assert refusal.value.status == 403
