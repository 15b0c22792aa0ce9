"""Does what a kubelet does with the container of a manifest, in namespaces of its own.

usage: kubelet.py BINARY MANIFEST CONFIGURATION [SOCKET]

Runs as root in new mount, network and process namespaces (script/kubernetes does that). Makes a
read-only root file system, starts the container with the manifest's arguments, user and rights,
probes it as the manifest says, and ends it with SIGTERM. Exits with 1 when something differs.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


class Pod:
    def __init__(self, manifest):
        documents = yaml.safe_load_all(pathlib.Path(manifest).read_text())
        deployment = next(one for one in documents if one["kind"] == "Deployment")
        self.spec = deployment["spec"]["template"]["spec"]
        containers = self.spec.get("initContainers", []) + self.spec["containers"]
        self.container = next(one for one in containers if one["name"] == "assay")
        self.ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.user = self.spec["securityContext"]["runAsUser"]
        self.group = self.spec["securityContext"]["fsGroup"]

    def probe(self, name):
        """Whether a probe succeeds now."""
        get = self.container[name]["httpGet"]
        # A kubelet sends the pod's address as the host.
        url = f"http://127.0.0.1:{self.ports[get['port']]}{get['path']}"
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return 200 <= answer.status < 400
        except (urllib.error.URLError, OSError):
            return False


def run(*command):
    subprocess.run(command, check=True)


def make_root(root, tool, configuration, group):
    """The image's root file system, the ConfigMap and the emptyDir."""
    run("mount", "-t", "tmpfs", "tmpfs", root)
    for name in ["usr", "proc", "etc", "run/assay", "dev"]:
        os.makedirs(f"{root}/{name}")
    for name in ["bin", "lib", "lib64"]:
        os.symlink("usr/" + name, f"{root}/{name}")
    run("mount", "--bind", "/usr", root + "/usr")
    run("mount", "-o", "remount,bind,ro", root + "/usr")
    run("mount", "-t", "proc", "proc", root + "/proc")
    os.makedirs(root + "/etc/assay")
    pathlib.Path(root + "/etc/assay/assay.toml").write_text(configuration)
    pathlib.Path(root + "/assay").write_bytes(pathlib.Path(tool).read_bytes())
    os.chmod(root + "/assay", 0o755)
    options = f"size=1m,gid={group},mode=2770"
    run("mount", "-t", "tmpfs", "-o", options, "tmpfs", root + "/run/assay")
    run("mount", "-o", "remount,ro", root)


def in_container(root, user, groups, *command):
    """A command with the rights of the container's securityContext."""
    return ["chroot", root, "setpriv", "--reuid", str(user), "--regid", str(user), "--groups",
            ",".join(map(str, groups)), "--no-new-privs", "--bounding-set", "-all",
            "--inh-caps", "-all", *command]


def status_of(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(line for line in text.splitlines() if line.startswith(name + ":")).split()[1:]


def main(tool, manifest, configuration, socket=None):
    pod = Pod(manifest)
    run("ip", "link", "set", "lo", "up")
    root = tempfile.mkdtemp()
    make_root(root, tool, pathlib.Path(configuration).read_text(), pod.group)
    address = f"unix:{socket}" if socket else f"tcp://127.0.0.1:{pod.ports['assay']}"
    server = subprocess.Popen(
        in_container(root, pod.user, [pod.group], "/assay", *pod.container["args"]),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        start_and_probe(pod, server)
        check_rights(pod, server, root, address, socket)
        end(pod, server, root, address)
    finally:
        server.kill()
        server.wait()


def health(root, address, user, groups):
    done = subprocess.run(
        in_container(root, user, groups, "/assay", "health", address), capture_output=True)
    return done.returncode


def start_and_probe(pod, server):
    probe, begin = pod.container["startupProbe"], time.monotonic()
    for _ in range(probe["failureThreshold"]):
        if pod.probe("startupProbe"):
            break
        if server.poll() is not None:
            raise Failure(server.stderr.read().decode())
        time.sleep(0.1)
    expect(pod.probe("startupProbe"), "the startup probe fails")
    print(f"passed: started after {time.monotonic() - begin:.1f} s")
    expect(pod.probe("livenessProbe") and pod.probe("readinessProbe"), "a probe fails")
    print("passed: ready and alive")


def check_rights(pod, server, root, address, socket):
    expect(set(status_of(server.pid, "Uid")) == {str(pod.user)}, "another user")
    for name in ["CapEff", "CapPrm", "CapBnd"]:
        expect(int(status_of(server.pid, name)[0], 16) == 0, f"{name} is not empty")
    expect(status_of(server.pid, "NoNewPrivs") == ["1"], "privileges can be gained")
    for path in ["/file", "/etc/assay/file", "/tmp/file", "/usr/file"]:
        written = subprocess.run(
            in_container(root, 0, [0], "touch", path), capture_output=True)
        expect(written.returncode != 0, f"{path} can be written")
    print(f"passed: user {pod.user}, no capability, nothing to write to")
    # The application of the pod: another user, with the group of the volumes.
    expect(health(root, address, 10002, [pod.group]) == 0, "the application gets no answer")
    if socket:
        expect(health(root, address, 10003, [10003]) == 2, "everyone may use the socket")
    print("passed: the application is served" + (", others are not" if socket else ""))
    pages = int(status_of(server.pid, "VmRSS")[0]) // 1024
    limit = int(pod.container["resources"]["limits"]["memory"].removesuffix("Mi"))
    expect(pages < limit / 4, f"{pages} MB resident of {limit} MB")
    print(f"passed: {pages} MB resident, limit {limit} MB")


def end(pod, server, root, address):
    """SIGTERM: not ready at once, alive and serving for the delay, gone within the grace period."""
    configured = pathlib.Path(root + "/etc/assay/assay.toml").read_text()
    delay = next((int(line.split("=")[1]) for line in configured.splitlines()
                  if line.startswith("drain-delay-seconds")), 0)
    begin = time.monotonic()
    server.send_signal(signal.SIGTERM)
    if delay:
        time.sleep(0.5)
        expect(not pod.probe("readinessProbe"), "ready while it drains")
        expect(pod.probe("livenessProbe"), "the drain would be ended by the liveness probe")
        expect(health(root, address, 10002, [pod.group]) == 1, "not serving while it drains")
        time.sleep(delay / 2)
        expect(server.poll() is None, "ended before the delay")
    grace = pod.spec["terminationGracePeriodSeconds"]
    try:
        status = server.wait(grace)
    except subprocess.TimeoutExpired:
        raise Failure(f"alive after {grace} s")
    took = time.monotonic() - begin
    expect(status == 0, f"ended with status {status}")
    expect(took >= delay, "ended before the delay")
    print(f"passed: ended with 0 after {took:.1f} s, {grace} s allowed")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)
