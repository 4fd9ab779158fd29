#!/usr/bin/env python3
"""Writes fields.txt: the protobuf field numbers of the built-in kinds, read from the struct tags of Kubernetes' Go types.

usage: generate.py FOLDER_OF_K8S_IO_MODULES VERSION > fields.txt      (for example: $(go env GOMODCACHE)/k8s.io v0.36.4)

A line without indentation opens a message. Each line below it is one field:
number, JSON name (^ where the message is inlined), kind, and ! where a zero that was sent means zero and not absent.
Kinds: s string, i integer, b bool, y bytes, f double, t time, u time with microseconds, q quantity, o integer or string,
j raw JSON, or the name of a message; [] in front for a list, {} for a map from strings."""
import re, sys
from pathlib import Path

root, version = Path(sys.argv[1]), sys.argv[2]
GROUPS = ("core apps batch rbac authentication authorization certificates coordination policy scheduling storage "
          "networking discovery events admissionregistration").split()
PACKAGES = {f"k8s.io/api/{g}/v1": (f"{g}/v1", root / f"api@{version}" / g / "v1") for g in GROUPS}
PACKAGES["k8s.io/api/autoscaling/v1"] = ("autoscaling/v1", root / f"api@{version}" / "autoscaling/v1")
PACKAGES["k8s.io/apimachinery/pkg/apis/meta/v1"] = ("meta/v1", root / f"apimachinery@{version}" / "pkg/apis/meta/v1")
SPECIAL = {"meta/v1.Time": "t", "meta/v1.MicroTime": "u", "meta/v1.FieldsV1": "j",
           "resource.Quantity": "q", "intstr.IntOrString": "o", "runtime.RawExtension": "j", "types.UID": "s",
           "types.NodeName": "s", "types.NamespacedName": "s"}
SCALARS = {"string": "s", "int32": "i", "int64": "i", "int": "i", "uint32": "i", "bool": "b", "float64": "f", "byte": "y"}

structs, named, imports = {}, {}, {}
for path, (package, folder) in PACKAGES.items():
    for file in sorted(folder.glob("*types*.go")) + sorted(folder.glob("micro_time.go")):
        text = file.read_text()
        aliases = {}
        for alias, target in re.findall(r'^\s*(\w+)?\s*"([\w./-]+)"$', text, re.M):
            aliases[alias or target.rsplit("/", 1)[-1]] = target
        for name, body in re.findall(r"^type (\w+) struct \{\n(.*?)^\}", text, re.M | re.S):
            structs[f"{package}.{name}"] = (body, package, aliases)
        for name, kind in re.findall(r"^type (\w+) ([\w.\[\]*]+)$", text, re.M):
            named[f"{package}.{name}"] = (kind, package, aliases)

def kind(go, package, aliases):
    if go.startswith("[]byte"):
        return "y"
    if go.startswith("*"):
        return kind(go[1:], package, aliases)
    if go.startswith("[]"):
        return "[]" + kind(go[2:], package, aliases)
    if go.startswith("map["):
        return "{}" + kind(go[go.index("]") + 1:], package, aliases)
    if go in SCALARS:
        return SCALARS[go]
    if "." in go:
        alias, name = go.split(".")
        target = aliases.get(alias, alias)
        full = f"{PACKAGES[target][0]}.{name}" if target in PACKAGES else f"{target.rsplit('/', 1)[-1]}.{name}"
    else:
        full = f"{package}.{go}"
    if full in SPECIAL:
        return SPECIAL[full]
    if full in named and full not in structs:
        return kind(*named[full])
    return full

wanted, done = [], {}
def visit(name):
    if name in done or name not in structs:
        return
    body, package, aliases = structs[name]
    lines = done[name] = []
    for go, tags in re.findall(r"^\s*(?:\w+\s+)?([\w.\[\]*]+)\s+`([^`]*)`", body, re.M):
        proto = re.search(r'protobuf:"(\w+),(\d+),\w+,name=(\w+)', tags)
        json = re.search(r'json:"([^"]*)"', tags)
        if not proto or not json:
            continue
        label, options = (json.group(1).split(",") + [""])[:2]
        shape = kind(go, package, aliases)
        keep = "!" if go.startswith("*") and shape[0] in "sibfoqtu" and "/" not in shape else ""
        inline = "inline" in json.group(1) and not label
        lines.append((int(proto.group(2)), "^" if inline else label, shape, keep))
        target = shape.replace("[]", "").replace("{}", "")
        if "/" in target:
            wanted.append(target)

for name in sorted(structs):
    body = structs[name][0]
    if "TypeMeta" in body and not name.endswith("List"):
        wanted.append(name)
while wanted:
    visit(wanted.pop())
for name in sorted(done):
    print(name)
    for number, label, shape, keep in sorted(done[name]):
        print(f" {number} {label} {shape}{keep}")
