"""The official Python client against a cluster: each function is one case, called in a namespace of its own."""

import datetime
import json
import sys
import time
import traceback

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

GROUP = "python.example.com"


def pod(name, **spec):
    containers = [{"name": "main", "image": "busybox"}]
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def until(core, namespace, name, wanted):
    """Follows a Pod until it is as wanted."""
    selector = f"metadata.name={name}"
    for event in watch.Watch().stream(core.list_namespaced_pod, namespace, field_selector=selector, timeout_seconds=30):
        if wanted(event["object"]):
            return event["object"]
    raise AssertionError(f"pod {name} never became as wanted")


def expect(code, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiException as refusal:
        assert refusal.status == code, refusal
        return json.loads(refusal.body)
    raise AssertionError(f"{call.__name__} was not refused with {code}")


def pods_live_and_die(namespace):
    core = client.CoreV1Api()
    created = core.create_namespaced_pod(namespace, pod("a"))
    assert created.metadata.uid and created.metadata.creation_timestamp.tzinfo
    running = until(core, namespace, "a", lambda it: it.status.phase == "Running")
    assert running.spec.node_name and running.status.pod_ip
    assert "a" in [it.metadata.name for it in core.list_namespaced_pod(namespace, label_selector="app=a").items]
    assert expect(409, core.create_namespaced_pod, namespace, pod("a"))["reason"] == "AlreadyExists"
    core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    assert expect(404, core.read_namespaced_pod, "a", namespace)["reason"] == "NotFound"


def deployments_roll_out(namespace):
    apps = client.AppsV1Api()
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}}
    apps.create_namespaced_deployment(namespace, body)
    follow = watch.Watch()
    for event in follow.stream(apps.list_namespaced_deployment, namespace, timeout_seconds=30):
        if event["object"].status.ready_replicas == 2:
            follow.stop()
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 1}})
    found = apps.read_namespaced_deployment("web", namespace)
    assert found.spec.replicas == 1
    stale = apps.read_namespaced_deployment("web", namespace)
    apps.patch_namespaced_deployment("web", namespace, {"metadata": {"labels": {"a": "b"}}})
    stale.spec.replicas = 5
    assert expect(409, apps.replace_namespaced_deployment, "web", namespace, stale)["reason"] == "Conflict"


def custom_objects(namespace):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    definition = {"metadata": {"name": f"gadgets.{GROUP}"}, "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}}
    extensions = client.ApiextensionsV1Api()
    extensions.create_custom_resource_definition(definition)
    follow = watch.Watch()
    for event in follow.stream(extensions.list_custom_resource_definition, timeout_seconds=30):
        conditions = event["object"].status.conditions or [] if event["object"].metadata.name == f"gadgets.{GROUP}" else []
        if any(it.type == "Established" and it.status == "True" for it in conditions):
            follow.stop()
    api, where = client.CustomObjectsApi(), (GROUP, "v1", namespace, "gadgets")
    gadget = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}
    api.create_namespaced_custom_object(*where, gadget)
    api.patch_namespaced_custom_object(*where, "g", {"spec": {"size": 2}})
    assert api.get_namespaced_custom_object(*where, "g")["spec"] == {"size": 2}
    expect(422, api.patch_namespaced_custom_object, *where, "g", {"spec": {"size": "big"}})
    assert len(api.list_namespaced_custom_object(*where)["items"]) == 1
    api.delete_namespaced_custom_object(*where, "g")
    extensions.delete_custom_resource_definition(f"gadgets.{GROUP}")


def watches_resume(namespace):
    core = client.CoreV1Api()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "before"}})
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "after"}})
    core.patch_namespaced_config_map("after", namespace, {"data": {"a": "b"}})
    core.delete_namespaced_config_map("after", namespace)
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=30):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            break
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "after")], seen


def patches_of_three_types(namespace):
    core = client.CoreV1Api()
    core.create_namespaced_pod(namespace, pod("p"))
    core.patch_namespaced_pod("p", namespace, {"metadata": {"labels": {"one": "1"}}})
    core.patch_namespaced_pod("p", namespace, [{"op": "add", "path": "/metadata/labels/two", "value": "2"}])
    merge = {"metadata": {"labels": {"one": None}}}
    answer = core.patch_namespaced_pod("p", namespace, merge, _content_type="application/merge-patch+json")
    assert answer.metadata.labels == {"app": "p", "two": "2"}, answer.metadata.labels


def exec_through_a_stream(namespace):
    core = client.CoreV1Api()
    core.create_namespaced_pod(namespace, pod("shell"))
    until(core, namespace, "shell", lambda it: it.status.phase == "Running")
    call = core.connect_get_namespaced_pod_exec
    said = stream(call, "shell", namespace, command=["echo", "hello"], stdout=True, stderr=True, stdin=False, tty=False)
    assert said.strip() == "hello", said
    session = stream(call, "shell", namespace, command=["cat"], stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    session.write_stdin("echoed\n")
    assert session.readline_stdout(timeout=10) == "echoed"
    session.close()
    failed = stream(call, "shell", namespace, command=["sh", "-c", "exit 3"], stdout=True, stderr=True, stdin=False, tty=False, _preload_content=False)
    failed.run_forever(timeout=10)
    assert failed.returncode == 3, failed.returncode


def server_side_apply(namespace):
    maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    maps.server_side_apply(body=body, namespace=namespace, field_manager="one")
    try:
        maps.server_side_apply(body={**body, "data": {"a": "2"}}, namespace=namespace, field_manager="two")
        raise AssertionError("a conflict was not noticed")
    except dynamic.exceptions.ConflictError as refusal:
        assert 'conflict with "one"' in json.loads(refusal.body)["message"], refusal.body
    forced = maps.server_side_apply(body={**body, "data": {"a": "2"}}, namespace=namespace, field_manager="two", force_conflicts=True)
    assert forced.data.a == "2"


def leases_elect_one_leader(namespace):
    leases = client.CoordinationV1Api()
    # The API wants microseconds, and the client leaves them out where they are zero.
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=1)
    spec = {"holderIdentity": "first", "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now}
    held = leases.create_namespaced_lease(namespace, {"metadata": {"name": "leader"}, "spec": spec})
    held.spec.renew_time = now.replace(microsecond=2)
    renewed = leases.replace_namespaced_lease("leader", namespace, held)
    assert renewed.spec.holder_identity == "first"
    held.spec.holder_identity = "second"
    expect(409, leases.replace_namespaced_lease, "leader", namespace, held)


CASES = [
    pods_live_and_die,
    deployments_roll_out,
    custom_objects,
    watches_resume,
    patches_of_three_types,
    exec_through_a_stream,
    server_side_apply,
    leases_elect_one_leader,
]


def main():
    config.load_kube_config()
    failed = 0
    for number, case in enumerate(CASES):
        namespace, begin = f"python-{number}", time.monotonic()
        client.CoreV1Api().create_namespace({"metadata": {"name": namespace}})
        try:
            case(namespace)
            word = "ok    "
        except Exception:
            traceback.print_exc()
            failed, word = failed + 1, "FAILED"
        print(f"{word} python {case.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    print(f"python: {len(CASES) - failed} of {len(CASES)} cases passed")
    return failed


sys.exit(main())
