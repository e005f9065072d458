"""Checks the objects of a file for Kubernetes: a service and an indexed job whose pods it names.

Usage: kubernetes.py FILE, with PyYAML
"""

import sys

import yaml


def expect(value, expected, what):
    if value != expected:
        sys.exit(f"{what}: expects {expected!r} but got {value!r}")


def main():
    with open(sys.argv[1]) as file:
        service, job = yaml.safe_load_all(file)
    name = job["metadata"]["name"]
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    expect([service["kind"], job["kind"]], ["Service", "Job"], "kinds")
    expect(service["spec"]["selector"], {"job-name": name}, "the pods of the service")
    expect(service["spec"]["clusterIP"], "None", "a service that gives names to pods")
    expect(pod["subdomain"], service["metadata"]["name"], "the service of the pods")
    expect(spec["completionMode"], "Indexed", "pods that are nodes")
    expect(spec["parallelism"], spec["completions"], "pods at once")
    expect(pod["restartPolicy"], "Never", "what podFailurePolicy needs")
    host = f"{name}-0.{pod['subdomain']}:"
    expect(host in container["command"][-1], True, f"a rendezvous at {host}")
    volumes = [volume["name"] for volume in pod["volumes"]]
    mounts = [mount["name"] for mount in container["volumeMounts"]]
    expect(sorted(mounts), sorted(volumes), "volumes")
    print("names agree")


if __name__ == "__main__":
    main()
