"""Checks folders before and after a rewrite.

rewritten BEFORE AFTER      every changed line belongs to a handler or to pod annotations
undone BEFORE MIDDLE AFTER  the objects of AFTER are equivalent to those of BEFORE
"""

import difflib
import pathlib
import sys

import yaml

SLOTS = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
OPT_OUT = "sidecar.istio.io/rewriteAppHTTPProbers"
CONFIG = "proxy.istio.io/config"
OFF = ("0", "f", "F", "FALSE", "false", "False")
ENV = "ISTIO_KUBE_APP_PROBERS"
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Scalars(Loader):
    """Reads special values of YAML 1.1, such as `=` and timestamps, as text."""


Scalars.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)
Scalars.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def changed_files(before, after):
    for path in sorted(pathlib.Path(before).rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(before)
            new = pathlib.Path(after) / name
            if path.read_bytes() != new.read_bytes():
                yield name, path, new


def text(path):
    return path.read_bytes().decode("utf-8-sig")


def objects(source):
    for document in yaml.load_all(source, Scalars):
        yield from members(document)


def members(document):
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from members(item)
    elif document is not None:
        yield document


def template(thing):
    """Returns the pod template, or the Pod itself."""
    if not isinstance(thing, dict):
        return None
    if thing.get("kind") == "Pod":
        return thing
    if thing.get("kind") == "PodTemplate":
        return thing.get("template")
    spec = thing.get("spec")
    if thing.get("kind") == "CronJob":
        spec = ((spec or {}).get("jobTemplate") or {}).get("spec")
    return spec.get("template") if isinstance(spec, dict) else None


def containers(pod):
    spec = pod.get("spec") or {}
    for key in ("initContainers", "containers"):
        yield from spec.get(key) or []


def handlers(pod):
    for container in containers(pod):
        for slot in SLOTS:
            yield container, container.get(slot)
        for hook in HOOKS:
            yield container, (container.get("lifecycle") or {}).get(hook)


def normal(thing):
    """Resolves port names, fills in defaults, and removes mappings that a rewrite leaves empty."""
    pod = template(thing)
    if not isinstance(pod, dict):
        return thing
    for container, handler in handlers(pod):
        if not isinstance(handler, dict):
            continue
        ports = {p.get("name"): p.get("containerPort") for p in container.get("ports") or []}
        for kind in ("httpGet", "tcpSocket", "grpc"):
            action = handler.get(kind)
            if not isinstance(action, dict):
                continue
            port = action.get("port")
            action["port"] = ports.get(port, port) if isinstance(port, str) else port
            if kind == "httpGet":
                action["path"] = action.get("path") or "/"
                action.setdefault("scheme", "HTTP")
                if not action.get("httpHeaders"):
                    action.pop("httpHeaders", None)
            if kind == "grpc":
                action["service"] = action.get("service") or ""
    # A rewrite adds the same container. `--undo` removes it, even if the user wrote it.
    partial = {"name": "istio-proxy", "image": "auto"}
    spec = pod.get("spec") or {}
    spec["containers"] = [container for container in spec.get("containers") or [] if container != partial]
    metadata = pod.get("metadata")
    if isinstance(metadata, dict):
        annotations = metadata.get("annotations")
        if isinstance(annotations, dict):
            # The mesh rewrites by default, so a value that is not false has no effect.
            if annotations.get(OPT_OUT) not in (None, *OFF):
                del annotations[OPT_OUT]
            if isinstance(annotations.get(CONFIG), str):
                annotations[CONFIG] = yaml.load(annotations[CONFIG], Scalars)
        if not annotations:
            metadata.pop("annotations", None)
    if not metadata:
        pod.pop("metadata", None)
    return thing


def comments(source):
    """Returns comments on whole lines and at ends of lines; sufficient if no string contains ` #`."""
    found = []
    for line in source.splitlines():
        at = line.find("#") if line.lstrip().startswith("#") else line.find(" #")
        if at >= 0:
            found.append(line[at:].strip())
    return sorted(found)


def explained_lines(source):
    """Returns the lines of the old text that edits may change: handlers, pod annotations and their keys."""
    lines = set()

    def walk(node, key, above):
        if isinstance(node, yaml.MappingNode):
            words = [value.value for _, value in node.value]
            # An edit changes an entry of the env, or adds one to the list in brackets.
            if ENV in words or "istio-proxy" in words:
                lines.update(range(node.start_mark.line, node.end_mark.line + 1))
            for name, value in node.value:
                word = getattr(name, "value", None)
                if word in ("httpGet", "tcpSocket", "grpc"):
                    lines.update(range(name.start_mark.line, value.end_mark.line + 1))
                if word in ("annotations", "metadata") and not value.value:
                    lines.add(name.start_mark.line)
                if word in (OPT_OUT, CONFIG):
                    lines.update(range(name.start_mark.line, value.end_mark.line + 1))
                if word in ("annotations", "metadata") and getattr(value, "flow_style", False):
                    lines.update(range(name.start_mark.line, value.end_mark.line + 1))
                walk(value, word, key)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                walk(item, key, above)

    for document in yaml.compose_all(source, Loader):
        walk(document, None, None)
    return lines


def rewritten(before, after):
    files = pods = probes = removed = added = 0
    for name, old_path, new_path in changed_files(before, after):
        files += 1
        old, new = text(old_path), text(new_path)
        is_json = old.lstrip().startswith("{")
        may = explained_lines(old)
        here = probed = 0
        for before_object, after_object in zip(objects(old), objects(new), strict=True):
            if before_object == after_object:
                continue
            here += 1
            first, second = template(before_object), template(after_object)
            for (_, a), (_, b) in zip(handlers(first), handlers(second), strict=True):
                probed += a != b
        pods, probes = pods + here, probes + probed
        matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
        gone = come = 0
        for tag, start, end, from_, to in matcher.get_opcodes():
            if tag == "equal":
                continue
            gone, come = gone + end - start, come + to - from_
            unexplained = [line for line in range(start, end) if line not in may]
            # In JSON the comma before a new member is at the end of the line above.
            if unexplained and not is_json and not ("&" in old and "*" in old):
                sys.exit(f"{name}:{unexplained[0] + 1}: a line changed that no edit explains")
        removed, added = removed + gone, added + come
        # Lines per handler: path, port and scheme. Lines per pod: metadata, annotations, two keys and their values.
        if come > 3 * probed + 8 * here + gone and "*" not in old:
            sys.exit(f"{name}: {come} new lines for {probed} handlers in {here} pods")
        if comments(old) != comments(new) and "*" not in old:
            sys.exit(f"{name}: comments were lost or duplicated")
    print(f"     {files} files, {pods} pods, {probes} handlers; {removed} lines out, {added} lines in")


def undone(before, middle, after):
    files = identical = 0
    kept = []
    for name, old_path, middle_path in changed_files(before, middle):
        files += 1
        back_path = pathlib.Path(after) / name
        if back_path.read_bytes() == middle_path.read_bytes():
            kept.append(name)
            continue
        identical += back_path.read_bytes() == old_path.read_bytes()
        old, back = text(old_path), text(back_path)
        if ENV in old:
            continue  # The undo also affects rewrites from before the run.
        for before_object, after_object in zip(objects(old), objects(back), strict=True):
            if normal(before_object) != normal(after_object):
                sys.exit(f"{name}: the undone object differs from the original")
        if ENV in back and ENV not in old:
            sys.exit(f"{name}: a prober env was not removed")
        if comments(old) != comments(back) and "*" not in old:
            sys.exit(f"{name}: comments were lost or duplicated")
    for name, *_ in changed_files(before, after):
        if not (pathlib.Path(middle) / name).exists():
            sys.exit(f"{name} is new")
    print(f"     {files} files undone, {identical} of them byte for byte, {len(kept)} left unchanged")
    for name in kept:
        print(f"       left: {name}")


if __name__ == "__main__":
    {"rewritten": rewritten, "undone": undone}[sys.argv[1]](*sys.argv[2:])
