#!/usr/bin/env python3
"""Makes the image that the Dockerfile describes of a bundle, without a container engine: a file for `docker load`, `podman load`
and `skopeo copy docker-archive:…`. The same bundle gives the same file, whoever makes it, and for whichever machine.

usage: image.py ROOT ARCH FILE        ROOT: as root.sh makes it; ARCH: amd64 or arm64
"""
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tarfile
import time
from pathlib import Path

DOCKERFILE = Path(__file__).resolve().parent.parent.parent / "Dockerfile"
NANOSECONDS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9}


def last_stage():
    """(instruction, rest) of the Dockerfile's last stage."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", DOCKERFILE.read_text())).splitlines()
    instructions = [tuple(line.split(None, 1)) for line in lines if line.strip()]
    begin = max(i for i, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[begin + 1:]


def duration(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text).groups()
    return int(number) * NANOSECONDS[unit]


def health(rest):
    options, command = rest.split("CMD", 1)
    given = dict(option.removeprefix("--").split("=") for option in options.split())
    return {
        "Test": ["CMD", *json.loads(command)],
        "Interval": duration(given["interval"]),
        "Timeout": duration(given["timeout"]),
        "StartPeriod": duration(given["start-period"]),
        "Retries": int(given["retries"]),
    }


def settings():
    """What a container is started with, as the engines write it."""
    config = {"Env": [], "Labels": {}}
    for name, rest in last_stage():
        if name == "ENV":
            config["Env"].append(rest.strip())
        elif name == "LABEL":
            config["Labels"].update(pair.split("=", 1) for pair in shlex.split(rest))
        elif name in ("USER", "STOPSIGNAL"):
            config[{"USER": "User", "STOPSIGNAL": "StopSignal"}[name]] = rest.strip()
        elif name == "VOLUME":
            config["Volumes"] = {rest.strip(): {}}
        elif name == "EXPOSE":
            config["ExposedPorts"] = {f"{rest.strip()}/tcp": {}}
        elif name == "HEALTHCHECK":
            config["Healthcheck"] = health(rest)
        elif name == "ENTRYPOINT":
            config["Entrypoint"] = json.loads(rest)
        elif name != "COPY":
            sys.exit(f"image.py: {name} is not known here: say what it does")
    return config


def add_bytes(archive, name, data, when):
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), when
    archive.addfile(info, io.BytesIO(data))


def layer_of(root, config, when):
    """The root as a tar file: sorted, all of it root's but the volume, which is the user's."""
    (volume,) = config["Volumes"]
    owner, group = (int(number) for number in config["User"].split(":"))

    def own(info):
        info.uid, info.gid = (owner, group) if f"/{info.name}" == volume else (0, 0)
        info.uname = info.gname = ""
        info.mtime = when
        return info

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            archive.add(path, path.relative_to(root).as_posix(), recursive=False, filter=own)
    return out.getvalue()


def main():
    root, arch, out = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    when = int((root / "opt/hookline/LICENSE").stat().st_mtime)
    config = settings()
    version = config["Labels"]["org.opencontainers.image.version"]
    made_of = json.loads((root / "opt/hookline/sbom.spdx.json").read_text())["name"]
    if made_of != f"hookline-{version}-{arch}":
        sys.exit(f"image.py: the Dockerfile's label says version {version}, for {arch}, and the bundle is {made_of}")
    layer = layer_of(root, config, when)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    image = json.dumps({
        "architecture": arch,
        "config": config,
        "created": created,
        "history": [{"created": created, "created_by": "hookline deploy/bundle/image.py"}],
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }, sort_keys=True).encode()
    digest = hashlib.sha256(image).hexdigest()
    with tarfile.open(f"{out}.new", "w", format=tarfile.GNU_FORMAT) as archive:
        add_bytes(archive, f"{digest}.json", image, when)
        add_bytes(archive, "layer.tar", layer, when)
        add_bytes(archive, "manifest.json", json.dumps([{
            "Config": f"{digest}.json", "RepoTags": [f"hookline:{version}"], "Layers": ["layer.tar"],
        }]).encode(), when)
    os.replace(f"{out}.new", out)
    print(f"{out}: sha256:{digest}")


main()
