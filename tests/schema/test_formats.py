"""Each format accepts and rejects what Kubernetes accepts and rejects."""

import math

import pytest
from helpers.work import at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.object_names import PLACEHOLDERS
from speccompile.schema.formats.by_name import FORMAT_CHECKS, QUANTITIES
from speccompile.schema.formats.text_format import ValueFault

SHA256 = "sha256:" + "0123456789abcdef" * 4
RULES = {
    "dns-label": "use lower-case letters, digits and `-`, and begin and end with a letter or digit",
    "dns-1035-label": ("use lower-case letters, digits and `-`, begin with a letter and end with a letter or digit"),
    "dns-subdomain": (
        "use lower-case letters, digits, `-` and `.`, and begin and end every part with a letter or digit"
    ),
    "env-name": "use letters, digits, `_`, `-` and `.`, and do not begin with a digit",
    "secret-id": (
        "use letters, digits, `_`, `-` and `.`, and no digit in front: it becomes an environment variable name"
    ),
    "config-key": "use letters, digits, `_`, `-` and `.`",
    "label-value": "use letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit",
    "image": "use lower-case letters and digits, joined by `/`, `-`, `.`, `_` or `__`",
    "image tag": "use letters, digits, `_`, `.` and `-`, and begin with a letter, a digit or `_`",
    "digest": "write a digest such as `sha256:` and 64 hexadecimal digits",
    "cron": "write minute, hour, day of month, month and day of week, such as `30 4 * * 1-5`",
    "step": "write a step such as `*/5`",
    "duration": "write numbers with units, such as `90s`, `1h30m` or `24h`",
    "every": "write a duration above zero and below 290 years",
    "user-id": "write a whole number from 1 to 2147483647",
    "resource-name": "write the full resource name, such as `nvidia.com/gpu`",
    "port": (
        "use lower-case letters, digits and single `-`, with a letter among them, "
        "and begin and end with a letter or digit"
    ),
}
ALL = ", ".join(f"`{{{name}}}`" for name in PLACEHOLDERS)
ANY_TEXT = {"placeholders"}
"""Formats of texts that may have lines, such as the value of a variable."""
WORDS = (
    "write five fields, `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`, `@hourly` "
    "or `@every 1h30m`"
)
TEXT_FORMATS = sorted(set(FORMAT_CHECKS) - QUANTITIES - {"user-id"})

LEFT_ALONE: dict[str, list[object]] = {
    "quantity": ["8Gi", "500m", "0", "-0", "+1", ".5", "1e3", 0, 2, 0.5, 1e3],
    "extended-resource": ["nvidia.com/gpu", "amd.com/gpu"],
    "positive-quantity": ["1", "10Gi", "1n", 1, 0.5],
    "secret-store": ["{project}", "{project}-secrets", "dh.{project}.store"],
    "gpu-name": ["a100", "slice", "1g-5gb"],
    "label-key-pattern": ["app", "example.com/app", "{label_prefix}/app", "{label_prefix}"],
    "name-pattern": ["", "a", "{name}", "j-{task}-{id}", "{project}_{workload}.{profile}"],
    "alias-pattern": ["{service_name}", "s-{project}-{service_name}", "{name}"],
    "volume-pattern": ["{name}-{volume}", "v-{id}-{volume}"],
    "port-pattern": ["port-{port}", "p{port}", "{port}tcp", "http", "a-{port}-b-c"],
    "placeholders": ["", "{name}", "https://example.com/{project}?u={user}", "{NAME} and {}", "two\nlines"],
    "base64": ["", "cHJpbnQoMSkK", "w6Q=", "YWI=", 5],
    "source": ["main.py", "src/main.py", "./main.py", "git+https://github.com/acme/train#main", 5],
    "registry": [
        "ghcr.io",
        "ghcr.io/acme",
        "ghcr.io/acme/team",
        "localhost",
        "localhost:5000/a",
        "Registry.Example.COM",
        "[::1]:5000",
        "docker.io/library",
    ],
    "whole-number": ["1", "2.0", "1k", "1000m", "1e1", "0.5k", 0, 8, 2.0],
    "image": [
        "ubuntu",
        "ubuntu:24.04",
        "library/ubuntu",
        "f/a_b__c--d.e",
        "localhost/app",
        "localhost:5000/app",
        "localhost:5000",
        "Registry.Example.COM/team/app:Tag_1.0-RC",
        "registry.example.com:5000/team/app",
        "10.0.0.1:5000/app",
        "[::1]:5000/app",
        "[2001:db8::1]/app",
        f"app@{SHA256}",
        f"registry.example.com/team/app:1.0@{SHA256}",
        f"app@sha512:{'0' * 128}",
        f"app@other+b64:{'A' * 32}",
        "0123456789abcdef" * 4 + ":1",
        "a" * 255,
        "app:" + "t" * 128,
    ],
    "cron": [
        "* * * * *",
        "? ? ? ? ?",
        "0 0 1 1 0",
        "59 23 31 12 6",
        "*/5 * * * *",
        "*/100 * * * *",
        "5/15 * * * *",
        "1-30/2 * * * *",
        "0,15,30-45/5 1-3 * * *",
        "05 04 * * *",
        "0 0 * JAN-dec Sun,mon-FRI",
        "0 0 * jan/2 sat",
        "  0\t0  * * * ",
        ",".join(str(minute) for minute in range(60)) + " * * * *",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@every 1h30m",
        "@every 1.5h",
        "@every +90s",
        "@every .5s",
        "@every 1.s",
        "@every 100ms",
        "@every 5µs",
        "@every 5μs",
    ],
    "env-name": ["A", "_", "-", "a.b-c_D9", ".a", "A" * 5000],
    "secret-id": ["token", "db.password", "_x", "-x", ".x", "a" * 253],
    "config-key": ["key", "9", ".hidden", "a..b", "-", "a" * 253],
    "label-key": ["app", "App_1.x-y", "example.com/app", "a/b", "9", "a" * 253 + "/" + "b" * 63],
    "key-prefix": ["app", "example.com/app", "example.com/*", "io.katacontainers.*", "*"],
    "annotation-key": ["app", "example.com/Some_Key"],
    "label-value": ["", "a", "A-b_c.9", "a" * 63],
    "dns-label": ["a", "9", "a-b", "a--b", "a" * 63],
    "dns-subdomain": ["a", "a.b", "9.a-b", "a" * 253],
    "dns-1035-label": ["a", "a9", "a-9", "a" * 63],
    "mount-path": ["/data", "/data/", "/a/b.c/..d", "/with space", "/größe", "/" + "a" * 4095],
    "sub-path": ["a", "a/b", "a//b", "./a", ".", "..a", "a..", "a:b", "größe"],
    "user-id": [1, 1000, 2147483647, "1", "2147483647", 0.5, math.nan, math.inf],
    "resource-name": [
        "cpu",
        "memory",
        "ephemeral-storage",
        "hugepages-2Mi",
        "hugepages-1Gi",
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "a" * 244 + "/b",
    ],
}

REFUSED: list[tuple[str, object, str, str | None]] = [
    (
        "quantity",
        "8GB",
        "`8GB` does not end in a known suffix",
        "write `8G` (powers of ten) or `8Gi` (powers of two)",
    ),
    ("quantity", "-1Gi", "`-1Gi` is negative", "write an amount of zero or more"),
    ("quantity", -0.5, "`-0.5` is negative", "write an amount of zero or more"),
    ("quantity", "1Gi\n", r"`1Gi\n` contains white space", "write `1Gi`, without the space"),
    ("quantity", 2**63, "the number is out of range", "the largest quantity is `9223372036854775807`"),
    ("extended-resource", "cpu", "`cpu` is not the name of an extended resource", RULES["resource-name"]),
    ("extended-resource", "a b/c", "`a b` is not a DNS name before `/`", "write `a-b`"),
    ("gpu-name", "requests", "`requests` is a key of `gpu`", "use another name"),
    ("gpu-name", "limits", "`limits` is a key of `gpu`", "use another name"),
    ("gpu-name", "A100", "`A100` is not a DNS label", "write `a100`"),
    ("gpu-name", "", "an empty text is not a DNS label", RULES["dns-label"]),
    ("label-key-pattern", "{prefix}/a", "unknown placeholder `{prefix}`", "use `{label_prefix}`"),
    ("label-key-pattern", "a b", "`a b` is not a label name", RULES["label-value"]),
    ("name-pattern", "{date}", "unknown placeholder `{date}`", f"use {ALL}, `{{workload}}`"),
    ("name-pattern", "{name}-{volume}", "unknown placeholder `{volume}`", f"use {ALL}, `{{workload}}`"),
    ("name-pattern", "-{name}", "`-{name}` produces names that Kubernetes rejects", RULES["label-value"]),
    ("name-pattern", "{}", "`{}` produces names that Kubernetes rejects", RULES["label-value"]),
    (
        "name-pattern",
        "a" * 64,
        f"`{'a' * 40}…` produces names that Kubernetes rejects",
        "shorten it: a label value has at most 63 characters",
    ),
    ("alias-pattern", "{volume}", "unknown placeholder `{volume}`", f"use {ALL}, `{{workload}}`, `{{service_name}}`"),
    ("volume-pattern", "{port}", "unknown placeholder `{port}`", f"use {ALL}, `{{workload}}`, `{{volume}}`"),
    ("port-pattern", "{name}", "unknown placeholder `{name}`", "use `{port}`"),
    ("port-pattern", "{port}", "`{port}` produces invalid port names", RULES["port"]),
    ("port-pattern", "P{port}", "`P{port}` produces invalid port names", RULES["port"]),
    ("port-pattern", "a--{port}", "`a--{port}` produces invalid port names", RULES["port"]),
    ("port-pattern", "", '`""` produces invalid port names', RULES["port"]),
    (
        "port-pattern",
        "aaaaaaaaaaa{port}",
        "`aaaaaaaaaaa{port}` produces invalid port names",
        "shorten it: the name of a port has at most 15 characters",
    ),
    ("placeholders", "{cluster}", "unknown placeholder `{cluster}`", f"use {ALL}"),
    ("registry", "acme", "`acme` does not begin with a registry host", "write, for example, `ghcr.io/acme`"),
    ("registry", "", '`""` does not begin with a registry host', "write, for example, `ghcr.io/acme`"),
    (
        "registry",
        "a." * 128 + "io",
        f"`{'a.' * 20}…` is 258 characters long",
        "shorten it: a registry or a folder of one has at most 255 characters",
    ),
    (
        "registry",
        "https://ghcr.io",
        "`https://ghcr.io` does not begin with a registry host",
        "write, for example, `ghcr.io/acme`",
    ),
    (
        "registry",
        "ghcr.io/acme/train:1",
        "`ghcr.io/acme/train:1` is not a registry or a path in one",
        "write, for example, `ghcr.io/acme`, without a tag",
    ),
    (
        "registry",
        "ghcr.io/",
        "`ghcr.io/` is not a registry or a path in one",
        "write, for example, `ghcr.io/acme`, without a tag",
    ),
    ("positive-quantity", "0", "`0` is zero", "write an amount above zero"),
    ("positive-quantity", 0.0, "`0` is zero", "write an amount above zero"),
    ("positive-quantity", "-1", "`-1` is negative", "write an amount of zero or more"),
    (
        "secret-store",
        "all",
        "`all` does not contain `{project}`",
        "add `{project}`, so that projects do not share a store",
    ),
    ("secret-store", "-{project}", "`-p` is not the name of a Secret", RULES["dns-subdomain"]),
    ("whole-number", 0.5, "`0.5` is not a whole number", "write a whole number, such as `1`"),
    ("whole-number", "1500m", "`1500m` is not a whole number", "write a whole number, such as `2`"),
    ("whole-number", "1n", "`1n` is not a whole number", "write a whole number, such as `1`"),
    ("whole-number", -1, "`-1` is negative", "write an amount of zero or more"),
    (
        "whole-number",
        "8g",
        "`8g` does not end in a known suffix",
        "write `8G` (powers of ten) or `8Gi` (powers of two)",
    ),
    ("image", "", "the image reference is empty", "write a name such as `registry.example.com/team/app:1.0`"),
    (
        "image",
        "https://example.com/app",
        "`https://example.com/app` begins with a scheme",
        "leave out `https://`",
    ),
    ("image", "http://app", "`http://app` begins with a scheme", "leave out `http://`"),
    ("image", "docker://app:1", "`docker://app:1` begins with a scheme", "leave out `docker://`"),
    ("image", "my app", "`my app` contains white space", "write the image reference without spaces"),
    ("image", "app\n", r"`app\n` contains white space", "write the image reference without spaces"),
    ("image", "App", "`App` has upper-case letters", "write `app`"),
    ("image", "MyOrg/App:V1", "`MyOrg/App` has upper-case letters", "write `myorg/app:V1`"),
    ("image", "Example.com/My/App", "`My/App` has upper-case letters", "write `Example.com/my/app`"),
    ("image", "App:\0", "`App` has upper-case letters", "write the name in lower case"),
    ("image", "A" * 101, f"`{'A' * 40}…` has upper-case letters", "write the name in lower case"),
    ("image", "-app", "`-app` is not an image name", RULES["image"]),
    ("image", "app-", "`app-` is not an image name", RULES["image"]),
    ("image", "a..b", "`a..b` is not an image name", RULES["image"]),
    ("image", "a___b", "`a___b` is not an image name", RULES["image"]),
    ("image", "a//b", "`a//b` is not an image name", RULES["image"]),
    ("image", "a/", "`a/` is not an image name", RULES["image"]),
    ("image", "äpp", "`äpp` is not an image name", RULES["image"]),
    ("image", "/app", "`/app` is not an image name", RULES["image"]),
    ("image", "example.com/", '`""` is not an image name', RULES["image"]),
    (
        "image",
        "ex_a.com/app",
        "`ex_a.com` is not a registry host",
        "write a host such as `registry.example.com:5000`",
    ),
    (
        "image",
        "host:/app",
        "`host:` is not a registry host",
        "write a host such as `registry.example.com:5000`",
    ),
    ("image", ":1.0", "`:1.0` has no image name", "write a name before the tag or digest"),
    ("image", "app:", "an empty text is not an image tag", RULES["image tag"]),
    ("image", "app:-x", "`-x` is not an image tag", RULES["image tag"]),
    ("image", "app:1:2", "`1:2` is not an image tag", RULES["image tag"]),
    ("image", "app:é", "`é` is not an image tag", RULES["image tag"]),
    (
        "image",
        "app:" + "t" * 129,
        f"`{'t' * 40}…` is 129 characters long",
        "shorten it: an image tag has at most 128 characters",
    ),
    ("image", "app@", '`""` is not a digest', RULES["digest"]),
    ("image", "app@sha256", "`sha256` is not a digest", RULES["digest"]),
    ("image", "app@md5:" + "0" * 31, "`md5:" + "0" * 31 + "` is not a digest", RULES["digest"]),
    ("image", f"app@{SHA256}0", f"`{SHA256[:40]}…` has 65 hexadecimal digits", "a `sha256` digest has 64"),
    (
        "image",
        f"app@{SHA256[:-1]}",
        f"`{SHA256[:40]}…` has 63 hexadecimal digits",
        "a `sha256` digest has 64",
    ),
    (
        "image",
        f"app@{SHA256[:-1]}F",
        f"`{SHA256[:40]}…` has upper-case digits",
        "write the digest in lower case",
    ),
    (
        "image",
        "0123456789abcdef" * 4,
        "`0123456789abcdef0123456789abcdef01234567…` is an image id, not a name",
        "write the image's name, with a tag or digest",
    ),
    (
        "image",
        "a" * 256,
        f"`{'a' * 40}…` is 256 characters long",
        "shorten it: an image name has at most 255 characters",
    ),
    ("base64", "print(1)", "this is not UTF-8 text in base64", "encode the file with `base64 -w0 FILE`"),
    ("base64", "YWI", "this is not UTF-8 text in base64", "encode the file with `base64 -w0 FILE`"),
    ("base64", "/w==", "this is not UTF-8 text in base64", "encode the file with `base64 -w0 FILE`"),
    ("base64", "AAECAw==", "the decoded text contains control characters", "encode a text file"),
    (
        "source",
        "a b",
        "`a b` contains a space, a comma, or a character that is not ASCII",
        "write a URL or a file name without them",
    ),
    ("source", "../a.py", "`../a.py` contains `..`", "write the path without `..`"),
    (
        "source",
        "/a.py",
        "`/a.py` is neither a URL nor a relative file name",
        "write, for example, `git+https://github.com/acme/train` or `main.py`",
    ),
    ("cron", "", "the schedule is empty", RULES["cron"]),
    ("cron", " ", "the schedule is empty", RULES["cron"]),
    ("cron", "* * * *", "the schedule has 4 fields, expected five", RULES["cron"]),
    ("cron", "0 * * * * *", "the schedule has 6 fields, expected five", RULES["cron"]),
    ("cron", "0 * * * * * *", "the schedule has 7 fields, expected five", RULES["cron"]),
    ("cron", "daily", "the schedule has 1 field, expected five", RULES["cron"]),
    ("cron", "60 * * * *", "`minute` field `60`: expected 0 to 59", None),
    ("cron", "0 25 * * *", "`hour` field `25`: expected 0 to 23", None),
    ("cron", "0 1,25,3 * * *", "`hour` field `25`: expected 0 to 23", None),
    ("cron", "0 0 0 * *", "`day of month` field `0`: expected 1 to 31", None),
    ("cron", "0 0 32 * *", "`day of month` field `32`: expected 1 to 31", None),
    ("cron", "0 0 L * *", "`day of month` field `L`: expected 1 to 31", None),
    ("cron", "0 0 * 13 *", "`month` field `13`: expected 1 to 12, or `JAN` to `DEC`", None),
    (
        "cron",
        "0 0 * * 7",
        "`day of week` field `7`: expected 0 to 6, or `SUN` to `SAT`",
        "Sunday is `0` or `SUN`",
    ),
    (
        "cron",
        "0 0 * * 1-7",
        "`day of week` field `1-7`: expected 0 to 6, or `SUN` to `SAT`",
        "Sunday is `0` or `SUN`",
    ),
    (
        "cron",
        "0 0 * * monday",
        "`day of week` field `monday`: expected 0 to 6, or `SUN` to `SAT`",
        "write `MON`",
    ),
    (
        "cron",
        "0 0 * * Monday-5",
        "`day of week` field `Monday-5`: expected 0 to 6, or `SUN` to `SAT`",
        "write `MON-5`",
    ),
    ("cron", "0 0 * MON *", "`month` field `MON`: expected 1 to 12, or `JAN` to `DEC`", None),
    (
        "cron",
        "0 0 * * \u017fun",
        "`day of week` field `\u017fun`: expected 0 to 6, or `SUN` to `SAT`",
        "write `SUN`",
    ),
    ("cron", "0 0 * * ٣", "`day of week` field `٣`: expected 0 to 6, or `SUN` to `SAT`", None),
    ("cron", "0 0 * * *\n", r"`day of week` field `*\n`: expected 0 to 6, or `SUN` to `SAT`", None),
    ("cron", "-1 * * * *", "`minute` field `-1`: expected 0 to 59", None),
    ("cron", "1-2-3 * * * *", "`minute` field `1-2-3`: expected 0 to 59", None),
    ("cron", "*-5 * * * *", "`minute` field `*-5`: expected 0 to 59", None),
    ("cron", "1,,2 * * * *", '`minute` field `""`: expected 0 to 59', None),
    ("cron", "1" * 400 + " * * * *", f"`minute` field `{'1' * 40}…`: expected 0 to 59", None),
    ("cron", "*/0 * * * *", "`minute` field `*/0`: expected a step of 1 or more after `/`", RULES["step"]),
    ("cron", "*/ * * * *", "`minute` field `*/`: expected a step of 1 or more after `/`", RULES["step"]),
    (
        "cron",
        "*/5/2 * * * *",
        "`minute` field `*/5/2`: expected a step of 1 or more after `/`",
        RULES["step"],
    ),
    ("cron", "*/-5 * * * *", "`minute` field `*/-5`: expected a step of 1 or more after `/`", RULES["step"]),
    (
        "cron",
        "0 22-2 * * *",
        "`hour` field `22-2`: the range runs backwards",
        "write `22-23,0-2` to go past the end",
    ),
    (
        "cron",
        "0 0 * * FRI-MON",
        "`day of week` field `FRI-MON`: the range runs backwards",
        "write `5-6,0-1` to go past the end",
    ),
    ("cron", "0 22-2/2 * * *", "`hour` field `22-2/2`: the range runs backwards", None),
    (
        "cron",
        "CRON_TZ=Europe/Berlin 0 0 * * *",
        "the schedule begins with a time zone, `CRON_TZ=Europe/Berlin`",
        "leave out `CRON_TZ=Europe/Berlin`: a time zone inside a schedule is not supported here",
    ),
    (
        "cron",
        "TZ=UTC 0 0 * * *",
        "the schedule begins with a time zone, `TZ=UTC`",
        "leave out `TZ=UTC`: a time zone inside a schedule is not supported here",
    ),
    ("cron", "@reboot", "`@reboot` is not a schedule", WORDS),
    ("cron", "@Daily", "`@Daily` is not a schedule", WORDS),
    ("cron", "@daily\n", r"`@daily\n` is not a schedule", WORDS),
    ("cron", "@every", "`@every` is not a schedule", WORDS),
    ("cron", "@every 5", "`5` is not a duration", RULES["duration"]),
    ("cron", "@every 1d", "`1d` is not a duration", RULES["duration"]),
    ("cron", "@every -1h", "`-1h` is not a duration", RULES["duration"]),
    ("cron", "@every 1 h", "`1 h` is not a duration", RULES["duration"]),
    ("cron", "@every .s", "`.s` is not a duration", RULES["duration"]),
    ("cron", "@every ", '`""` is not a duration', RULES["duration"]),
    ("cron", "@every 1h\n", r"`1h\n` is not a duration", RULES["duration"]),
    ("cron", "@every 0s", "the duration `0s` is out of range", RULES["every"]),
    ("cron", "@every 9999999h", "the duration `9999999h` is out of range", RULES["every"]),
    (
        "cron",
        "*" * 1025,
        f"`{'*' * 40}…` is 1025 characters long",
        "shorten it: a schedule has at most 1024 characters",
    ),
    ("env-name", "", "an empty text is not an environment variable name", RULES["env-name"]),
    ("env-name", "9A", "`9A` is not an environment variable name", RULES["env-name"]),
    ("env-name", "A=B", "`A=B` is not an environment variable name", RULES["env-name"]),
    ("env-name", "A\n", r"`A\n` is not an environment variable name", RULES["env-name"]),
    ("env-name", "Ä", "`Ä` is not an environment variable name", RULES["env-name"]),
    ("env-name", ".", "`.` is `.` or begins with `..`", "write a name that does not begin with `.`"),
    ("env-name", "..", "`..` is `.` or begins with `..`", "write a name that does not begin with `.`"),
    ("env-name", "..A", "`..A` is `.` or begins with `..`", "write a name that does not begin with `.`"),
    ("secret-id", "9x", "this is not the identifier of a secret", RULES["secret-id"]),
    ("secret-id", "a/b", "this is not the identifier of a secret", RULES["secret-id"]),
    ("secret-id", "a\n", "this is not the identifier of a secret", RULES["secret-id"]),
    ("secret-id", "..a", "this is not the identifier of a secret", "write a name that does not begin with `.`"),
    (
        "secret-id",
        "a" * 254,
        "this is not the identifier of a secret",
        "shorten it: a secret's name has at most 253 characters",
    ),
    ("config-key", "", "an empty text is not a config key", RULES["config-key"]),
    ("config-key", "a b", "`a b` is not a config key", RULES["config-key"]),
    ("config-key", "..", "`..` is `.` or begins with `..`", "write a name that does not begin with `.`"),
    (
        "config-key",
        "a" * 254,
        f"`{'a' * 40}…` is 254 characters long",
        "shorten it: a config key has at most 253 characters",
    ),
    ("label-key", "", "an empty text is not a label name", RULES["label-value"]),
    ("key-prefix", "-a*", "`-ax` is not a label name", RULES["label-value"]),
    ("label-key", "-a", "`-a` is not a label name", RULES["label-value"]),
    ("label-key", "a\n", r"`a\n` is not a label name", RULES["label-value"]),
    ("label-key", "/a", "an empty text is not a DNS name before `/`", RULES["dns-subdomain"]),
    ("label-key", "a/", "an empty text is not a label name", RULES["label-value"]),
    ("label-key", "a/b/c", "`b/c` is not a label name", RULES["label-value"]),
    ("label-key", "Example.com/a", "`Example.com` is not a DNS name before `/`", "write `example.com`"),
    (
        "label-key",
        "a" * 64,
        f"`{'a' * 40}…` is 64 characters long",
        "shorten it: a label name has at most 63 characters",
    ),
    (
        "label-key",
        "a" * 254 + "/a",
        f"`{'a' * 40}…` is 254 characters long",
        "shorten it: a DNS name before `/` has at most 253 characters",
    ),
    ("annotation-key", "a b", "`a b` is not an annotation name", RULES["label-value"]),
    ("label-value", "-a", "`-a` is not a label value", RULES["label-value"]),
    ("label-value", "a/b", "`a/b` is not a label value", RULES["label-value"]),
    ("label-value", "\n", r"`\n` is not a label value", RULES["label-value"]),
    (
        "label-value",
        "a" * 64,
        f"`{'a' * 40}…` is 64 characters long",
        "shorten it: a label value has at most 63 characters",
    ),
    ("dns-label", "", "an empty text is not a DNS label", RULES["dns-label"]),
    ("dns-label", "My_App", "`My_App` is not a DNS label", "write `my-app`"),
    ("dns-label", "a.b", "`a.b` is not a DNS label", "write `a-b`"),
    ("dns-label", "a\n", r"`a\n` is not a DNS label", "write `a`"),
    ("dns-label", "-", "`-` is not a DNS label", RULES["dns-label"]),
    ("dns-label", "bücher", "`bücher` is not a DNS label", RULES["dns-label"]),
    (
        "dns-label",
        "a" * 64,
        f"`{'a' * 40}…` is 64 characters long",
        "shorten it: a DNS label has at most 63 characters",
    ),
    ("dns-1035-label", "9a", "`9a` is not a service name", RULES["dns-1035-label"]),
    ("dns-1035-label", "Web UI", "`Web UI` is not a service name", "write `web-ui`"),
    ("dns-subdomain", "a..b", "`a..b` is not a DNS name", RULES["dns-subdomain"]),
    ("dns-subdomain", "A_b.c", "`A_b.c` is not a DNS name", "write `a-b.c`"),
    ("dns-subdomain", "a.-b", "`a.-b` is not a DNS name", RULES["dns-subdomain"]),
    (
        "dns-subdomain",
        "a" * 254,
        f"`{'a' * 40}…` is 254 characters long",
        "shorten it: a DNS name has at most 253 characters",
    ),
    ("mount-path", "", '`""` is not an absolute path', "begin with `/`, such as `/data`"),
    ("mount-path", "data", "`data` is not an absolute path", "begin with `/`, such as `/data`"),
    ("mount-path", "/", "`/` is the container's root", "mount at a directory below it, such as `/data`"),
    ("mount-path", "//", "`//` is the container's root", "mount at a directory below it, such as `/data`"),
    ("mount-path", "/.", "`/.` is the container's root", "mount at a directory below it, such as `/data`"),
    ("mount-path", "/a/../b", "`/a/../b` contains `..`", "write the path without `..`"),
    ("mount-path", "/a:b", "`/a:b` contains `:`", "remove `:`, which Kubernetes rejects in a mount path"),
    ("mount-path", "/a//b", "`/a//b` has an empty or a `.` segment", "write `/a/b`"),
    ("mount-path", "/a/./b/", "`/a/./b/` has an empty or a `.` segment", "write `/a/b`"),
    ("mount-path", "/a//", "`/a//` has an empty or a `.` segment", "write `/a`"),
    ("mount-path", "/a\n", r"`/a\n` contains the unprintable character `\n`", "remove the character"),
    (
        "mount-path",
        "/\ud800",
        r"`/\ud800` contains the unprintable character `\ud800`",
        "remove the character",
    ),
    (
        "mount-path",
        "/" * 4097,
        f"`{'/' * 40}…` is 4097 characters long",
        "shorten it: a mount path has at most 4096 characters",
    ),
    ("sub-path", "", "the sub-path is empty", "remove it to mount the whole volume"),
    ("sub-path", "/a", "`/a` is an absolute path", "write it relative to the volume, without `/` in front"),
    ("sub-path", "a/../b", "`a/../b` contains `..`", "write the path without `..`"),
    ("sub-path", "..", "`..` contains `..`", "write the path without `..`"),
    ("sub-path", "a\0", r"`a\x00` contains the unprintable character `\x00`", "remove the character"),
    ("user-id", 0, "user or group id 0 is root, which is not allowed", RULES["user-id"]),
    ("user-id", "0", "user or group id 0 is root, which is not allowed", RULES["user-id"]),
    ("user-id", "00", "`00` has zeros in front", RULES["user-id"]),
    ("user-id", "08877", "`08877` has zeros in front", RULES["user-id"]),
    ("user-id", -1, "a user or group id cannot be negative", RULES["user-id"]),
    ("user-id", "-1", "a user or group id cannot be negative", RULES["user-id"]),
    ("user-id", 2147483648, "the user or group id is out of range", RULES["user-id"]),
    ("user-id", "2147483648", "the user or group id is out of range", RULES["user-id"]),
    ("user-id", 0.0, "`0.0` is not written as an integer", RULES["user-id"]),
    ("user-id", 1000.0, "`1000.0` is not written as an integer", RULES["user-id"]),
    ("user-id", "", '`""` is not a user or group id', RULES["user-id"]),
    ("user-id", "-0", "`-0` is not a user or group id", RULES["user-id"]),
    ("user-id", "+1", "`+1` is not a user or group id", RULES["user-id"]),
    ("user-id", "1000\n", r"`1000\n` is not a user or group id", RULES["user-id"]),
    ("user-id", "root", "`root` is not a user or group id", RULES["user-id"]),
    ("user-id", "١", "`١` is not a user or group id", RULES["user-id"]),
    ("resource-name", "", '`""` is not a resource name', RULES["resource-name"]),
    ("resource-name", "gpu", "`gpu` is not a resource name", RULES["resource-name"]),
    ("resource-name", "nvidia-gpu", "`nvidia-gpu` is not a resource name", RULES["resource-name"]),
    ("resource-name", "CPU", "`CPU` is not a resource name", "write `cpu`"),
    ("resource-name", "mem", "`mem` is not a resource name", "write `memory`"),
    ("resource-name", "storage", "`storage` is not a resource name", "write `ephemeral-storage`"),
    ("resource-name", "cpu\n", r"`cpu\n` is not a resource name", RULES["resource-name"]),
    ("resource-name", "NVIDIA.com/gpu", "`NVIDIA.com` is not a DNS name before `/`", "write `nvidia.com`"),
    ("resource-name", "nvidia.com/", "an empty text is not a resource name", RULES["label-value"]),
    (
        "resource-name",
        "requests.nvidia.com/gpu",
        "`requests.nvidia.com/gpu` begins with `requests.`",
        "remove `requests.`",
    ),
    (
        "resource-name",
        "a" * 245 + "/b",
        f"`{'a' * 40}…` is 245 characters long",
        "shorten it: the part of a resource name before `/` has at most 244 characters",
    ),
    ("resource-name", "hugepages-", "`hugepages-` is not a resource name", RULES["label-value"]),
    (
        "resource-name",
        "hugepages-2MB",
        "`2MB` does not end in a known suffix",
        "write `2M` (powers of ten) or `2Mi` (powers of two)",
    ),
    (
        "resource-name",
        "hugepages-0",
        "`hugepages-0` has no page size",
        "write a size, such as `hugepages-2Mi`",
    ),
    ("resource-name", "hugepages--2Mi", "`-2Mi` is negative", "write an amount of zero or more"),
]

# Texts that keep a pattern with two ways to match the same characters busy for ever.
HOSTILE = {
    "letters": "a" * 10**6,
    "letters, then a stop": "a" * 10**6 + "!",
    "dashes": "a" + "-" * 10**6,
    "dots": "a." * (10**6 // 2),
    "slashes": "/" * 10**6,
    "path": "/a" * (10**6 // 2) + "/..",
    "underscores": "a_" * (10**6 // 2) + "-",
    "zeros": "0" * 10**6,
    "zero steps": "*/" + "0" * 10**6 + " * * * *",
    "commas": "1," * (10**6 // 2) + " * * * *",
    "fields": "* " * (10**6 // 2),
    "duration": "@every " + "1h" * (10**6 // 2),
    "image": "a:b@" * (10**6 // 4),
    "scheme": "a+" * (10**6 // 2) + "://",
    "resource": "hugepages-" + "1" * 10**6,
    "surrogates": "\ud800" * 10**6,
    "newlines": "\n" * 10**6,
}

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zs"])),
    st.text("aA0/-_.:@*,?= \n", max_size=80),
)


def fault_of(name: str, value: object) -> ValueFault | None:
    return FORMAT_CHECKS[name](value)


def test_every_format_has_both_lists() -> None:
    assert set(LEFT_ALONE) == {name for name, *_ in REFUSED} == set(FORMAT_CHECKS)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in LEFT_ALONE.items() for value in values])
def test_what_kubernetes_accepts_is_left_alone(name: str, value: object) -> None:
    assert fault_of(name, value) is None


@pytest.mark.parametrize(("name", "value", "message", "advice"), REFUSED)
def test_a_fault_is_named_with_its_help(name: str, value: object, message: str, advice: str | None) -> None:
    assert fault_of(name, value) == ValueFault(message, advice)


@pytest.mark.parametrize("name", FORMAT_CHECKS)
@pytest.mark.parametrize("value", [None, True, False, [], {}, b"a"])
def test_other_types_are_left_to_the_schema(name: str, value: object) -> None:
    assert fault_of(name, value) is None


@pytest.mark.parametrize("name", TEXT_FORMATS)
@pytest.mark.parametrize("value", [0, -1, 0.5])
def test_numbers_are_left_to_the_schema_by_formats_of_text(name: str, value: object) -> None:
    assert fault_of(name, value) is None


@pytest.mark.parametrize("name", sorted(FORMAT_CHECKS.keys() - ANY_TEXT))
def test_a_line_break_at_the_end_is_never_overlooked(name: str) -> None:
    good = [value for value in LEFT_ALONE[name] if isinstance(value, str)]
    assert good
    for value in good:
        assert fault_of(name, f"{value}\n") is not None


@pytest.mark.parametrize("name", ["quantity", "whole-number", "user-id"])
def test_an_enormous_number_is_a_fault(name: str) -> None:
    for value in (10**100_000, -(10**100_000)):
        assert fault_of(name, value) is not None


@pytest.mark.parametrize("name", FORMAT_CHECKS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_anything_is_judged_with_little_work(name: str, text: str) -> None:
    with at_most_cpu_seconds(10):
        fault_of(name, text)


@given(scalars)
def test_every_format_judges_any_scalar(value: object) -> None:
    for check in FORMAT_CHECKS.values():
        fault = check(value)
        if fault is not None:
            assert fault.message
            assert fault.message.isprintable()
            assert len(fault.message) < 160
            assert not fault.message.endswith(".")
            assert fault.help is None or fault.help.isprintable()


@given(st.text("abcXYZ019-_. ", min_size=1, max_size=70))
def test_a_proposed_dns_name_is_one(text: str) -> None:
    for name in ("dns-label", "dns-subdomain", "dns-1035-label"):
        fault = fault_of(name, text)
        if fault is not None and fault.help is not None and fault.help.startswith("write `"):
            assert fault_of(name, fault.help.removeprefix("write `").removesuffix("`")) is None


@given(
    *[st.integers(low, high) for low, high in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))],
    st.integers(1, 99),
)
def test_a_schedule_within_bounds_is_accepted(  # noqa: PLR0913, PLR0917  one argument for each field
    minute: int, hour: int, day: int, month: int, weekday: int, step: int
) -> None:
    assert fault_of("cron", f"{minute}/{step} 0-{hour} {day} 1-{month}/{step} {weekday},{weekday}-6") is None
