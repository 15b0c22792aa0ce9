"""Clients of gRPC in other languages: their code is generated from the contract, and each is built
into an agent, a program of Tests/Interop/rpc that makes calls as its standard input says.

A line of input is ACTION METHOD NUMBER FILE [KEY]. FILE has the request, and KEY is an API key.

    call METHOD MILLISECONDS FILE     makes a call with this time limit; 0: none
    cancel METHOD MILLISECONDS FILE   cancels the call after this time
    stream - COUNT FILE               sends the request COUNT times on one VerifyStream
    watch - 0 FILE                    watches the health of a service until the server ends that

The answer to a call is CODE MESSAGE RESPONSE DETAILS, to a stream the numbers of answers, of valid
ones, and of different ids, to a watch a line "status NUMBER" for each and then as to a call. Texts
are in base64; - is an empty one.
"""
import base64
import copy
import glob
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from google.rpc import status_pb2

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
FILES = ["assay/v1/assay.proto", "assay/v1/service.proto", "grpc/health/v1/health.proto"]
NAMES = [
    "ok", "cancelled", "unknown", "invalid_argument", "deadline_exceeded", "not_found",
    "already_exists", "permission_denied", "resource_exhausted", "failed_precondition", "aborted",
    "out_of_range", "unimplemented", "internal", "unavailable", "data_loss", "unauthenticated"]
JARS = ["grpc-api", "grpc-core", "grpc-context", "grpc-netty", "grpc-protobuf",
        "grpc-protobuf-lite", "grpc-stub", "protobuf", "guava", "perfmark-api", "netty-*",
        "failureaccess", "jsr305", "gson", "geronimo-annotation-1.3-spec",
        "error_prone_annotations", "error-prone-annotations"]


class Refusal(Exception):
    """The error of a call: its code in lower case, its message, and its details by type."""

    def __init__(self, code, message, details):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.details = code, message, details


# ---- Building ------------------------------------------------------------------------------------

def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))[:300]}\n{done.stdout}{done.stderr}")


def protoc(folder, *options):
    run("protoc", f"--proto_path={PROTO}", *options, *FILES, cwd=folder)


def python(folder):
    run(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}",
        f"--grpc_python_out={folder}", f"--python_out={folder}", *FILES[:2])
    return [sys.executable, HERE / "rpc/agent.py"], {
        "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def go(folder):
    source = folder / "src"
    source.mkdir()
    health = "Mgrpc/health/v1/health.proto=grpc/health/v1"
    protoc(folder, f"--go_out={source}", f"--go-grpc_out={source}", f"--go_opt={health}",
           f"--go-grpc_opt={health}")
    # Debian's gRPC depends on version 1.3, which does not know optional fields, and which excludes
    # this one; the interface is the same.
    run("apt-get", "download", "golang-github-golang-protobuf-1-5-dev", cwd=folder)
    run("dpkg", "-x", *folder.glob("*.deb"), folder)
    path = f"{folder}:{folder}/usr/share/gocode:/usr/share/gocode"
    run("go", "build", "-o", folder / "agent", HERE / "rpc/agent.go", env=os.environ | {
        "GOPATH": path, "GO111MODULE": "off", "GOFLAGS": "",
        "GOCACHE": str(folder / "cache")})
    return [folder / "agent"], {}


def cpp(folder):
    protoc(folder, f"--cpp_out={folder}", f"--grpc_out={folder}",
           f"--plugin=protoc-gen-grpc={shutil.which('grpc_cpp_plugin')}")
    flags = subprocess.run(["pkg-config", "--libs", "grpc++", "protobuf"], capture_output=True,
                           text=True, check=True).stdout.split()
    run("g++", "-O0", "-std=c++17", f"-I{folder}", "-o", folder / "agent", HERE / "rpc/agent.cc",
        *folder.rglob("*.cc"), *flags)
    return [folder / "agent"], {}


def java(folder):
    protoc(folder, f"--java_out={folder}", f"--grpc_out={folder}",
           f"--plugin=protoc-gen-grpc={shutil.which('grpc_java_plugin')}")
    jars = [jar for name in JARS for jar in glob.glob(f"/usr/share/java/{name}.jar")]
    path = ":".join(jars)
    run("javac", "-nowarn", "-d", folder, "-cp", path, HERE / "rpc/java/Agent.java",
        *folder.rglob("*.java"))
    return ["java", "-Xmx512m", "-cp", f"{folder}:{path}", "Agent"], {}


def ruby(folder):
    protoc(folder, f"--ruby_out={folder}", f"--grpc_out={folder}",
           f"--plugin=protoc-gen-grpc={shutil.which('grpc_ruby_plugin')}")
    return ["ruby", "-I", folder, HERE / "rpc/agent.rb"], {}


def swift(folder):
    # Its packages are built once, in a folder that stays.
    place = PROTO.parent / ".build/interop/rpc/swift"
    shutil.copytree(HERE / "rpc/swift", place, dirs_exist_ok=True)
    build = ["swift", "build", "--package-path", place]
    products = subprocess.run([*build, "--show-bin-path"], capture_output=True, text=True,
                              check=True).stdout.strip()
    for generator in SWIFT_GENERATORS:
        run(*build, "--product", generator)
    generated = place / "Sources/Generated"
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir()
    protoc(folder, f"--swift_out={generated}", f"--grpc-swift-2_out={generated}",
           "--grpc-swift-2_opt=Server=false",
           *(f"--plugin={products}/{generator}" for generator in SWIFT_GENERATORS))
    run(*build, "--product", "Agent")
    return [pathlib.Path(products) / "Agent"], {}


SWIFT_GENERATORS = ["protoc-gen-swift", "protoc-gen-grpc-swift-2"]

# The builder of each language, and the files that it needs with the packages that have them.
LANGUAGES = {
    "Python": (python, {}),
    "Go": (go, {
        "/usr/bin/go": "golang-go", "/usr/bin/protoc-gen-go": "protoc-gen-go",
        "/usr/bin/protoc-gen-go-grpc": "protoc-gen-go-grpc", "/usr/bin/protoc": "protobuf-compiler",
        "/usr/share/gocode/src/google.golang.org/grpc": "golang-google-grpc-dev"}),
    "C++": (cpp, {
        "/usr/bin/g++": "g++", "/usr/bin/grpc_cpp_plugin": "protobuf-compiler-grpc",
        "/usr/bin/protoc": "protobuf-compiler", "/usr/include/grpcpp": "libgrpc++-dev"}),
    "Java": (java, {
        "/usr/bin/javac": "default-jdk-headless", "/usr/bin/protoc": "protobuf-compiler",
        "/usr/bin/grpc_java_plugin": "protobuf-compiler-grpc-java-plugin",
        "/usr/share/java/grpc-netty.jar": "libgrpc-java",
        # libgrpc-java does not depend on them.
        "/usr/share/java/protobuf.jar": "libprotobuf-java",
        "/usr/share/java/perfmark-api.jar": "libperfmark-java",
        "/usr/share/java/netty-codec-http2.jar": "libnetty-java",
        "/usr/share/java/gson.jar": "libgoogle-gson-java"}),
    "Ruby": (ruby, {
        "/usr/bin/ruby": "ruby", "/usr/bin/grpc_ruby_plugin": "protobuf-compiler-grpc",
        "/usr/bin/protoc": "protobuf-compiler", "/usr/share/doc/ruby-grpc": "ruby-grpc"}),
    "Swift": (swift, {"/usr/bin/protoc": "protobuf-compiler"}),
}


def agents(folder, address, languages, kinds):
    """Builds and starts the agents. Those whose packages are missing are named, and left out.

    kinds: the type of each method's answer
    """
    started = []
    for name in languages:
        build, files = LANGUAGES[name]
        missing = sorted({package for file, package in files.items() if not os.path.exists(file)})
        if missing:
            print(f"skipped: gRPC for {name}: apt-get install {' '.join(missing)}")
            continue
        place = pathlib.Path(folder) / name.lower()
        place.mkdir(parents=True)
        started.append(Agent(name, *build(place), address, folder, kinds))
    return started


# ---- Calling -------------------------------------------------------------------------------------

class Agent:
    """A running agent."""

    # It sends binary messages.
    is_streaming = True

    def __init__(self, language, command, environment, address, folder, kinds):
        self.kinds = kinds
        self.language, self.name = language, f"gRPC for {language}"
        self.command, self.environment, self.folder = command, environment, folder
        self.connect(address)

    def connect(self, address):
        """Starts the process, which keeps one connection."""
        self.process = subprocess.Popen(
            [str(word) for word in [*self.command, address]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=os.environ | self.environment)

    def begin(self, action, method, number, request, key=None):
        data = request.SerializeToString()
        file = pathlib.Path(self.folder) / hashlib.sha256(data).hexdigest()[:16]
        file.write_bytes(data)
        words = [action, method, str(number), str(file), *([key] if key else [])]
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def words(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"FAILED: the agent of {self.name} ended: {self.process.wait()}")
        return line.split()

    def end(self, method):
        """The answer to the call that was begun."""
        code, message, response, details = self.words()
        message, response, details = (
            b"" if text == "-" else base64.b64decode(text) for text in (message, response, details))
        if code != "0":
            found = {one.type_url.rpartition("/")[2]: one.value
                     for one in status_pb2.Status.FromString(details).details}
            raise Refusal(NAMES[int(code)], message.decode(), found)
        return self.kinds[method].FromString(response)

    def call(self, method, request, timeout_ms=None, key=None):
        self.begin("call", method, timeout_ms or 0, request, key)
        return self.end(method)

    def cancelled(self, method, request, after_ms):
        self.begin("cancel", method, after_ms, request)
        return self.end(method)

    def stream(self, count, request):
        self.begin("stream", "-", count, request)
        return [int(word) for word in self.words()]

    def another(self):
        """A process like this one, which is not connected."""
        return copy.copy(self)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
