#!/usr/bin/env python3
"""Says what a bundle is made of: its sbom.spdx.json (SPDX 2.3) and, in licenses/, what Debian says of each part's licence.

usage: sbom.py FOLDER VERSION ARCH < a line for each file of FOLDER/lib that is Debian's: its name, a tab, where it was

Each package is as dpkg knows it: name, version, source. SYSROOT: the root whose dpkg is asked; SOURCE_DATE_EPOCH: the time of
the document, so that the same files give the same document.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = os.environ.get("SYSROOT", "")
# What is in our own programs, or in the list of authorities, and no file of its own.
BUILT_IN = {"node-llhttp": "STATIC_LINK", "libc6-dev": "STATIC_LINK", "ca-certificates": "DATA_FILE_OF"}
FIELDS = "${binary:Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n"


def dpkg(program, *arguments):
    command = [program, *([f"--root={ROOT}"] if ROOT else []), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def owners_of(paths):
    """path → the package that it is of. What was /lib may be a link to /usr/lib now, and dpkg knows the one or the other."""
    known = {}
    for path in paths:
        real = os.path.realpath(path).removeprefix(ROOT)
        known |= {name: path for name in (real, real.removeprefix("/usr"), f"/usr{real}")}
    lines = (line.rsplit(": ", 1) for line in dpkg("dpkg-query", "--search", *known).splitlines())
    owners = {known[name]: packages.split(",")[0] for packages, name in lines if name in known}
    for path in paths:
        if path not in owners:
            sys.exit(f"sbom.py: no package of dpkg has {path}")
    return owners


def describe(package, bundle_arch):
    """The package's row of FIELDS, as SPDX has it; None: it is not installed."""
    known = [dpkg("dpkg-query", "--show", f"--showformat={FIELDS}", of) for of in (f"{package}:{bundle_arch}", package)]
    rows = "".join(known).splitlines()
    if not rows:
        return None
    name, version, source, source_version, arch = rows[0].split("\t")
    name = name.split(":")[0]
    return {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": f"https://snapshot.debian.org/package/{source}/{source_version}/",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": f"licenses/{name}",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={arch}&distro=debian-12",
        }],
    }


def describe_file(folder, path):
    data = path.read_bytes()
    name = path.relative_to(folder).as_posix()
    sums = {kind: hashlib.new(kind, data).hexdigest() for kind in ("sha1", "sha256")}
    return {
        "SPDXID": "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", "-", name),
        "fileName": f"./{name}",
        "checksums": [{"algorithm": kind.upper(), "checksumValue": value} for kind, value in sums.items()],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def take_licence(folder, name):
    source = Path(f"{ROOT}/usr/share/doc/{name}/copyright")
    if not source.exists():
        sys.exit(f"sbom.py: {source} is missing, and the licence of {name} with it")
    (folder / "licenses").mkdir(exist_ok=True)
    shutil.copyfile(source, folder / "licenses" / name)


def main():
    folder, version, arch = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    owners = {}
    sources = dict(line.split("\t") for line in sys.stdin.read().splitlines())
    for source, package in owners_of([*sources.values()]).items():
        owners.setdefault(package, []).extend(f"lib/{name}" for name, of in sources.items() if of == source)
    ours = "SPDXRef-Package-hookline"
    packages, relations = [], [("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    for package in sorted({*owners, *BUILT_IN}):
        known = describe(package, arch)
        if not known:
            continue
        packages.append(known)
        take_licence(folder, known["name"])
        kind = BUILT_IN.get(package, "DYNAMIC_LINK")
        ends = (known["SPDXID"], ours) if kind == "DATA_FILE_OF" else (ours, known["SPDXID"])
        relations.append((ends[0], kind, ends[1]))
        relations += [(known["SPDXID"], "CONTAINS", "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", "-", name)) for name in sorted(owners.get(package, []))]
    files = [describe_file(folder, path) for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    of_debian = {f"./{name}" for names in owners.values() for name in names}
    relations += [(ours, "CONTAINS", file["SPDXID"]) for file in files if file["fileName"] not in of_debian]
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"hookline-{version}-{arch}",
        "documentNamespace": f"https://spdx.org/spdxdocs/hookline-{version}-{arch}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "creators": ["Tool: hookline-deploy/bundle/sbom.py"],
        },
        "packages": [{
            "SPDXID": ours,
            "name": "hookline",
            "versionInfo": version,
            "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION",
        }, *packages],
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }
    (folder / "sbom.spdx.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


main()
