"""Measures the language server: the time from an edit to its diagnostics, and the memory over time.

Usage: lsp.py MESHPROBE FOLDER [--edits N] [--rate EDITS_PER_SECOND]

FOLDER is copied; the copy is edited as an editor does. A quarter of the edits changes a policy of the whole mesh, the
others a workload. The last lines compare the memory with that of `meshprobe check` on the same folder.
"""

import argparse
import json
import os
import pathlib
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

POLICY = """apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
"""


class Server:
    """A language server, and the messages that it has sent."""

    def __init__(self, program, folder):
        command = [program, "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self.messages = queue.Queue()
        self.next = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Reads messages until the server ends; each gets the time at which it was read."""
        stream = self.process.stdout
        while header := stream.readline():
            length = 0
            while header.strip():
                name, value = header.split(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = stream.readline()
            message = json.loads(stream.read(length))
            self.messages.put((time.monotonic(), message))

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def request(self, method, params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        while True:
            _, message = self.messages.get(timeout=120)
            if message.get("id") == self.next and "method" not in message:
                return message

    def diagnosed(self, uri, version):
        """Waits for the diagnostics of a version of a document; returns the time at which they were read."""
        while True:
            at, message = self.messages.get(timeout=120)
            params = message.get("params") or {}
            is_wanted = params.get("uri") == uri and (params.get("version") or 0) >= version
            if message.get("method") == "textDocument/publishDiagnostics" and is_wanted:
                return at

    def memory(self):
        """Returns the resident memory in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def processor_time(self):
        """Returns the processor time so far, in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def edited(text, number, is_policy):
    """Returns a variant of a manifest."""
    if is_policy:
        mode = ("STRICT", "PERMISSIVE", "DISABLE")[number % 3]
        return text.replace("mode: STRICT", f"mode: {mode}")
    lines = [line for line in text.splitlines(keepends=True) if "meshprobe-bench" not in line]
    ports = [at for at, line in enumerate(lines) if re.search(r"\bport: *\d+ *$", line)]
    if ports:
        at = ports[number % len(ports)]
        lines[at] = re.sub(r"\d+ *$", str(8000 + number % 100), lines[at].rstrip("\n")) + "\n"
    return "".join(lines) + f"# meshprobe-bench {number}\n"


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(name, times):
    if times:
        points = [f"{label} {1000 * quantile(times, share):.0f}" for label, share in
                  (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))]
        print(f"{name}: {len(times)} edits, milliseconds: {', '.join(points)}")


def check_memory(program, folder):
    """Returns the peak memory of `check` in MiB, and its processor time and elapsed time in seconds."""
    started = time.monotonic()
    process = subprocess.Popen([program, "check", "--fail-on", "never", "."], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, time.monotonic() - started


def workloads(folder):
    """Returns the files with probes, except those of charts."""
    files = sorted(folder.rglob("*.y*ml"))
    return [file for file in files if "Probe:" in (text := file.read_text(errors="replace")) and "{{" not in text]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edits", type=int, default=2000)
    parser.add_argument("--rate", type=float, help="edits per second, without waiting for diagnostics")
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "tree"
        shutil.copytree(options.folder, folder, symlinks=True)
        (folder / ".git").mkdir(exist_ok=True)
        policy = folder / "mesh-policy.yaml"
        policy.write_text(POLICY)
        peak, cpu, elapsed = check_memory(options.program, folder)
        print(f"check: {peak:.0f} MiB, {cpu:.2f} s of processor time, {elapsed:.2f} s")
        measure(options, folder, policy, peak)


def measure(options, folder, policy, peak):
    server = Server(options.program, folder)
    uri = folder.as_uri()
    started = time.monotonic()
    server.request("initialize", {"processId": os.getpid(), "rootUri": uri, "capabilities": {
        "textDocument": {"publishDiagnostics": {"versionSupport": True}}}})
    server.notify("initialized", {})
    files = [*random.sample(workloads(folder), 20), policy]
    texts = {file: file.read_text() for file in files}
    versions = dict.fromkeys(files, 1)
    for file in files:
        server.notify("textDocument/didOpen", {"textDocument": {
            "uri": file.as_uri(), "languageId": "yaml", "version": 1, "text": texts[file]}})
    for file in files:
        server.diagnosed(file.as_uri(), 1) if file == files[-1] else None
    print(f"first diagnostics: {time.monotonic() - started:.2f} s, {server.memory():.0f} MiB")
    times = {"workload": [], "policy of the mesh": []}
    memory = []
    before = server.processor_time()
    for number in range(options.edits):
        is_policy = number % 4 == 3
        file = policy if is_policy else random.choice(files[:-1])
        versions[file] += 1
        text = edited(texts[file], number, is_policy)
        sent = time.monotonic()
        server.notify("textDocument/didChange", {
            "textDocument": {"uri": file.as_uri(), "version": versions[file]}, "contentChanges": [{"text": text}]})
        if options.rate:
            time.sleep(1 / options.rate)
        else:
            at = server.diagnosed(file.as_uri(), versions[file])
            times["policy of the mesh" if is_policy else "workload"].append(at - sent)
        if number % max(1, options.edits // 20) == 0:
            memory.append(server.memory())
    server.diagnosed(file.as_uri(), versions[file]) if options.rate else None
    memory.append(server.memory())
    for name, found in times.items():
        report(name, found)
    spent = server.processor_time() - before
    print(f"processor time per edit: {1000 * spent / options.edits:.0f} ms")
    print("memory in MiB:", " ".join(f"{value:.0f}" for value in memory))
    print(f"largest memory: {max(memory):.0f} MiB, {max(memory) / peak:.2f} times that of check")
    server.request("shutdown", None)
    server.notify("exit", None)
    return server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
