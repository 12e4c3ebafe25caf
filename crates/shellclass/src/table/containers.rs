//! Containers, clusters, version control, databases.

use super::{Entry, Operands, Verb, custom, options, verb, verbs};
use crate::rules;
use crate::verdict::Need;

const DOCKER_SOCKET: &[Need] = &[Need::Socket("/run/docker.sock")];
const NETWORK: &[Need] = &[Need::Network];

const LIST: &str =
    "-a -q -f: -n: -l -s --all --quiet --filter= --format= --no-trunc --last= --latest --size --digests";
const DOCKER: &[Verb] = &[
    verb("ps", LIST, Operands::None),
    verb("container ls", LIST, Operands::None),
    verb("container list", LIST, Operands::None),
    verb("images", LIST, Operands::AtMost(1)),
    verb("image ls", LIST, Operands::AtMost(1)),
    verb("image inspect", "-f: --format=", Operands::Any),
    verb("image history", "-H -q --format= --no-trunc", Operands::AtMost(1)),
    verb("history", "-H -q --format= --no-trunc", Operands::AtMost(1)),
    verb("logs", "-f -t -n: --tail= --since= --until= --follow --timestamps --details", Operands::AtMost(1)),
    verb(
        "container logs",
        "-f -t -n: --tail= --since= --until= --follow --timestamps --details",
        Operands::AtMost(1),
    ),
    verb("inspect", "-f: -s --format= --size --type=", Operands::Any),
    verb("container inspect", "-f: -s --format= --size", Operands::Any),
    verb("top", "", Operands::Any),
    verb("stats", "-a --no-stream --no-trunc --format= --all", Operands::Any),
    verb("port", "", Operands::Any),
    verb("diff", "", Operands::AtMost(1)),
    verb("version", "-f: --format=", Operands::None),
    verb("info", "-f: --format=", Operands::None),
    verb("system df", "-v --format= --verbose", Operands::None),
    verb("system info", "-f: --format=", Operands::None),
    verb("network ls", "-q -f: --filter= --format= --no-trunc --quiet", Operands::None),
    verb("network inspect", "-f: --format= -v", Operands::Any),
    verb("volume ls", "-q -f: --filter= --format= --quiet", Operands::None),
    verb("volume inspect", "-f: --format=", Operands::Any),
    verb("events", "-f: --filter= --since= --until= --format=", Operands::None),
    verb("node ls", "-q --format=", Operands::None),
    verb("service ls", "-q --format=", Operands::None),
    verb("service ps", "--no-trunc --format=", Operands::Any),
];
const DOCKER_DESTROYS: &[&str] = &[
    "system prune",
    "volume rm",
    "volume prune",
    "volume remove",
    "image prune",
    "container prune",
    "network prune",
    "builder prune",
    "swarm leave",
];

const KUBE: &str = "-n: --namespace= -o: --output= -l: --selector= -A --all-namespaces --context= --no-headers --sort-by= -w --watch --show-labels --field-selector= -L: --request-timeout= --cluster= --ignore-not-found --chunk-size= --show-kind";
const KUBECTL: &[Verb] = &[
    verb("get", KUBE, Operands::Any),
    verb(
        "describe",
        "-n: --namespace= -l: --selector= -A --all-namespaces --context= --show-events=",
        Operands::Any,
    ),
    verb(
        "logs",
        "-n: --namespace= -c: --container= -p -f --previous --follow --tail= --since= --timestamps --all-containers --prefix -l: --selector= --context= --limit-bytes=",
        Operands::Any,
    ),
    verb(
        "top",
        "-n: -A --namespace= --all-namespaces -l: --selector= --sort-by= --containers --no-headers --context=",
        Operands::Any,
    ),
    verb("explain", "--recursive --api-version=", Operands::Any),
    verb("version", "--client -o: --output= --short", Operands::None),
    verb("cluster-info", "--context=", Operands::None),
    verb("api-resources", "--namespaced= -o: --output= --verbs= --api-group= --no-headers", Operands::None),
    verb("api-versions", "", Operands::None),
    verb("config get-contexts", "-o: --no-headers", Operands::Any),
    verb("config current-context", "", Operands::None),
    verb("rollout status", "-n: --namespace= --timeout= --watch=", Operands::Any),
    verb("rollout history", "-n: --namespace= --revision=", Operands::Any),
    verb("auth can-i", "-n: --namespace= --list -A", Operands::Any),
    verb("events", KUBE, Operands::Any),
];
const KUBECTL_DESTROYS: &[&str] = &["delete", "drain"];

const LOG: &str = "-n: -p -s -u -L: -S: -G: -i -E -1 -# --oneline --graph --all --decorate? --stat --name-only --name-status --patch --since= --until= --after= --before= --author= --grep= --pretty= --pretty? --format= --abbrev-commit --no-merges --merges --follow --reverse --max-count= --shortstat --numstat --date= --first-parent --no-color --color? --branches --tags --no-decorate --no-ext-diff --no-textconv --no-patch -q --topo-order --date-order --full-history --skip=";
const DIFF: &str = "-p -s -u -U: -w -b -a -R -M -C -q --stat --name-only --name-status --cached --staged --shortstat --numstat --no-color --color? --word-diff? --ignore-all-space --no-ext-diff --no-textconv --exit-code --quiet --summary --check --unified= --diff-filter= --raw";
const GIT: &[Verb] = &[
    verb(
        "status",
        "-s -b -u? -z --short --branch --porcelain? --long --ignored? --untracked-files? --show-stash --ahead-behind --no-ahead-behind",
        Operands::Any,
    ),
    verb("log", LOG, Operands::Any),
    verb("show", LOG, Operands::Any),
    verb(
        "shortlog",
        "-s -n -e -c --all --no-merges --summary --numbered --email --since= --until=",
        Operands::Any,
    ),
    verb("diff", DIFF, Operands::Any),
    verb("diff-tree", "-r -p --stat --name-only --name-status --no-commit-id --root", Operands::Any),
    verb("blame", "-L: -w -e -s -l -f -n -M -C --date= --porcelain", Operands::Any),
    verb(
        "branch",
        "-a -r -v -l --list --all --remotes --verbose --show-current --no-color --sort= --format= --contains --merged --no-merged",
        Operands::None,
    ),
    verb("branch --contains", "-a -r", Operands::AtMost(1)),
    verb("tag", "-n? -l --list --sort= --format= --contains --points-at", Operands::None),
    verb("tag -l", "-n? --sort= --format=", Operands::Any),
    verb("remote", "-v --verbose", Operands::None),
    verb("remote get-url", "--all --push", Operands::AtMost(1)),
    verb(
        "rev-parse",
        "--short? --abbrev-ref? --verify -q --quiet --show-toplevel --git-dir --is-inside-work-tree --is-bare-repository --symbolic-full-name --show-prefix",
        Operands::Any,
    ),
    verb(
        "rev-list",
        "-n: -1 --count --all --max-count= --since= --until= --no-merges --left-right --first-parent --oneline",
        Operands::Any,
    ),
    verb(
        "ls-files",
        "-c -d -m -o -s -u -z --cached --deleted --modified --others --stage --exclude-standard --ignored",
        Operands::Any,
    ),
    verb("ls-tree", "-r -d -t -l -z --name-only --full-name --long", Operands::Any),
    verb("cat-file", "-p -t -s -e", Operands::Any),
    verb(
        "describe",
        "--tags --always --dirty? --long --all --abbrev= --match= --exact-match --contains",
        Operands::Any,
    ),
    verb("stash list", "-p --stat", Operands::None),
    verb("stash show", "-p --stat --name-only", Operands::AtMost(1)),
    verb("config --list", "--show-origin --show-scope --global --local --system --name-only", Operands::None),
    verb("config -l", "--show-origin --show-scope --global --local --system --name-only", Operands::None),
    verb("config --get", "", Operands::AtMost(1)),
    verb("config --get-all", "", Operands::AtMost(1)),
    verb("config --get-regexp", "", Operands::AtMost(1)),
    verb("reflog", "-n: -# --date= --all --oneline", Operands::None),
    verb("reflog show", "-n: -# --date= --all --oneline", Operands::Any),
    verb("merge-base", "-a --all --is-ancestor", Operands::Any),
    verb("for-each-ref", "--sort= --format= --count= --contains", Operands::Any),
    verb("show-ref", "-s -q --heads --tags --head --verify", Operands::Any),
    verb("count-objects", "-v -H", Operands::None),
    verb("worktree list", "--porcelain -v", Operands::None),
    verb("version", "", Operands::None),
    verb("check-ignore", "-v -q -n", Operands::Any),
    verb("name-rev", "--name-only --tags", Operands::Any),
];
const GIT_DESTROYS: &[&str] = &["filter-branch", "filter-repo"];

pub(super) const ENTRIES: &[Entry] = &[
    verbs("docker", "", DOCKER, DOCKER_DESTROYS, "asks the daemon over its socket; only listed verbs look, and other hosts and contexts aren't listed").needs(DOCKER_SOCKET),
    verbs("podman", "", &[verb("version", "", Operands::None)], DOCKER_DESTROYS, "prints its version; its other verbs set up a user's storage first"),
    verbs("kubectl", "-n: --namespace= --context= -A --request-timeout=", KUBECTL, KUBECTL_DESTROYS, "asks the cluster; only listed verbs look, and other configurations, users and raw paths aren't listed").needs(NETWORK),
    verbs("helm", "-n: --namespace= --kube-context=", &[verb("list", "-n: -A -a -q --all-namespaces --namespace= -o: --output=", Operands::None), verb("ls", "-n: -A -a -q --all-namespaces --namespace= -o: --output=", Operands::None), verb("status", "-n: --namespace= -o: --output= --revision=", Operands::AtMost(1)), verb("history", "-n: --namespace= -o: --output= --max=", Operands::AtMost(1)), verb("version", "--short", Operands::None)], &["uninstall", "delete"], "asks the cluster; only listed verbs look").needs(NETWORK),
    verbs("crictl", "", &[verb("ps", "-a -q -o: --all --quiet --output=", Operands::None), verb("pods", "-q -o: --quiet --output=", Operands::None), verb("images", "-q -o: --quiet", Operands::None), verb("version", "", Operands::None)], &["rmp", "rmi"], "asks the container runtime over its socket").needs(&[Need::Socket("/run/containerd/containerd.sock")]),
    verbs("git", "-C: --no-pager --git-dir= --work-tree= --no-optional-locks --version", GIT, GIT_DESTROYS, "looks at a repository; its own settings can name programs, which the sandbox holds"),
    verbs("terraform", "", &[verb("version", "-json", Operands::None)], &["destroy", "apply -destroy"], "prints its version; other verbs load providers"),
    custom("psql", rules::services::psql, "sends SQL that only reads, without a start-up file"),
    custom("mysql", rules::services::mysql, "prints its version; sending SQL isn't known to only read"),
    custom("mariadb", rules::services::mysql, "prints its version; sending SQL isn't known to only read"),
    options("pg_isready", "-h: -p: -U: -d: -t: -q --host= --port= --username= --dbname= --timeout= --quiet", Operands::None, "asks whether a database answers").needs(&[Need::Socket("/run/postgresql/.s.PGSQL.5432")]),
    custom("redis-cli", rules::services::redis, "sends commands that only look"),
];
