//! Names that operators use: services with their units and ports, programs that are no services, words for hosts.

/// A service: the systemd unit, what people call it, and its usual port (0 if it has none).
pub(super) struct KnownService {
    pub(super) unit: &'static str,
    pub(super) names: &'static str,
    pub(super) port: u16,
}

const fn known(unit: &'static str, names: &'static str, port: u16) -> KnownService {
    KnownService { unit, names, port }
}

/// Services, with the unit names of Debian where they differ from what people say.
pub(super) const SERVICES: &[KnownService] = &[
    known("nginx", "nginx,엔진엑스,엔진x,엔지닉스,엔긴엑스", 80),
    known("apache2", "apache,apache2,아파치", 80),
    known("httpd", "httpd", 80),
    known("ssh", "ssh,openssh,에스에스에이치", 22),
    known("sshd", "sshd", 22),
    known(
        "postgresql",
        "postgresql,postgres,postgre,psql,pg,pgsql,포스트그레스,포스트그레,포스트그레스큐엘,포스트그레에스큐엘",
        5432,
    ),
    known("mysql", "mysql,mysqld,마이에스큐엘,마이시퀄", 3306),
    known("mariadb", "mariadb,maria,마리아디비", 3306),
    known("redis", "redis,redis-server,레디스", 6379),
    known("mongod", "mongod,mongo,mongodb,몽고,몽고디비", 27017),
    known("docker", "docker,dockerd,도커", 2375),
    known("containerd", "containerd,컨테이너디", 0),
    known("podman", "podman", 0),
    known("cron", "cron,crontab,크론", 0),
    known("crond", "crond", 0),
    known("haproxy", "haproxy,에이치에이프록시", 0),
    known("postfix", "postfix,포스트픽스", 25),
    known("dovecot", "dovecot,도브콧", 143),
    known("exim4", "exim4,exim", 25),
    known("named", "named,bind9", 53),
    known("systemd-resolved", "systemd-resolved,resolved", 53),
    known("systemd-networkd", "systemd-networkd,networkd", 0),
    known("systemd-timesyncd", "systemd-timesyncd,timesyncd", 0),
    known("systemd-journald", "systemd-journald", 0),
    known("systemd-logind", "systemd-logind,logind", 0),
    known("systemd-udevd", "systemd-udevd,udevd,udev", 0),
    known("NetworkManager", "networkmanager,network-manager", 0),
    known("rsyslog", "rsyslog,rsyslogd", 514),
    known("syslog-ng", "syslog-ng", 514),
    known("fail2ban", "fail2ban", 0),
    known("ufw", "ufw", 0),
    known("nftables", "nftables", 0),
    known("firewalld", "firewalld", 0),
    known("chrony", "chrony", 123),
    known("chronyd", "chronyd", 123),
    known("ntp", "ntp", 123),
    known("ntpd", "ntpd", 123),
    known("elasticsearch", "elasticsearch,elastic,엘라스틱서치,엘라스틱", 9200),
    known("opensearch", "opensearch", 9200),
    known("kibana", "kibana,키바나", 5601),
    known("logstash", "logstash,로그스태시", 5044),
    known("filebeat", "filebeat", 0),
    known("grafana-server", "grafana,grafana-server,그라파나", 3000),
    known("prometheus", "prometheus,프로메테우스", 9090),
    known("prometheus-node-exporter", "prometheus-node-exporter", 9100),
    known("node_exporter", "node_exporter,node-exporter", 9100),
    known("alertmanager", "alertmanager,얼럿매니저", 9093),
    known("loki", "loki,로키", 3100),
    known("promtail", "promtail", 0),
    known("rabbitmq-server", "rabbitmq,rabbitmq-server,rabbit,래빗엠큐", 5672),
    known("kafka", "kafka,카프카", 9092),
    known("zookeeper", "zookeeper,주키퍼", 2181),
    known("memcached", "memcached,memcache,멤캐시,멤캐시드", 11211),
    known("etcd", "etcd", 2379),
    known("kubelet", "kubelet,큐블릿,쿠블릿", 10250),
    known("k3s", "k3s", 6443),
    known("jenkins", "jenkins,젠킨스", 8080),
    known("gitlab-runner", "gitlab-runner", 0),
    known("gitea", "gitea", 3000),
    known("tomcat", "tomcat,톰캣", 8080),
    known("tomcat9", "tomcat9", 8080),
    known("tomcat10", "tomcat10", 8080),
    known("php-fpm", "php-fpm,phpfpm", 9000),
    known("supervisor", "supervisor,supervisord", 0),
    known("varnish", "varnish", 6081),
    known("squid", "squid,스퀴드", 3128),
    known("caddy", "caddy", 0),
    known("traefik", "traefik,트래픽프록시", 0),
    known("envoy", "envoy", 0),
    known("vault", "vault", 8200),
    known("consul", "consul,콘술", 8500),
    known("nomad", "nomad", 4646),
    known("nats", "nats,nats-server", 4222),
    known("minio", "minio", 9000),
    known("influxdb", "influxdb,influx", 8086),
    known("telegraf", "telegraf", 0),
    known("clickhouse-server", "clickhouse,clickhouse-server,클릭하우스", 8123),
    known("cassandra", "cassandra,카산드라", 9042),
    known("snapd", "snapd", 0),
    known("cups", "cups,cupsd", 631),
    known("bluetooth", "bluetooth,블루투스", 0),
    known("avahi-daemon", "avahi-daemon,avahi", 0),
    known("dnsmasq", "dnsmasq", 53),
    known("unbound", "unbound", 53),
    known("openvpn", "openvpn", 1194),
    known("wg-quick@wg0", "wireguard,와이어가드", 51820),
    known("smbd", "smbd,samba,삼바", 445),
    known("nfs-server", "nfs,nfs-server,nfsd", 2049),
    known("vsftpd", "vsftpd", 21),
    known("gunicorn", "gunicorn,구니콘", 8000),
    known("uwsgi", "uwsgi", 0),
    known("celery", "celery,셀러리", 0),
    known("libvirtd", "libvirtd,libvirt", 0),
    known("multipathd", "multipathd", 0),
    known("cloud-init", "cloud-init", 0),
    known("unattended-upgrades", "unattended-upgrades", 0),
    known("steadyhand", "steadyhand", 7180),
    known("steadyhand-edge", "steadyhand-edge", 0),
    known("dbus", "dbus,dbus-daemon", 0),
    known("polkit", "polkit,polkitd", 0),
    known("auditd", "auditd", 0),
    known("logrotate", "logrotate", 0),
    known("keepalived", "keepalived", 0),
    known("mosquitto", "mosquitto", 1883),
    known("tor", "tor", 9050),
    known("coredns", "coredns", 53),
    known("slapd", "slapd,openldap", 389),
    known("sssd", "sssd", 0),
    known("zabbix-agent", "zabbix-agent,zabbix,자빅스", 10050),
    known("datadog-agent", "datadog-agent,datadog", 0),
    known("airflow", "airflow,에어플로우", 8080),
    known("sidekiq", "sidekiq", 0),
    known("pgbouncer", "pgbouncer", 6432),
    known("proftpd", "proftpd", 21),
    known("lighttpd", "lighttpd", 80),
    known("wildfly", "wildfly", 8080),
    known("patroni", "patroni", 8008),
    known("strongswan", "strongswan", 0),
    known("getty@tty1", "getty", 0),
];

/// Names of ports that aren't services of their own.
const PORTS: &[(&str, u16)] = &[
    ("http", 80),
    ("https", 443),
    ("smtp", 25),
    ("smtps", 465),
    ("submission", 587),
    ("imap", 143),
    ("imaps", 993),
    ("pop3", 110),
    ("pop3s", 995),
    ("ftp", 21),
    ("sftp", 22),
    ("scp", 22),
    ("rdp", 3389),
    ("ldap", 389),
    ("ldaps", 636),
    ("dns", 53),
    ("vnc", 5900),
    ("mqtt", 1883),
    ("mssql", 1433),
    ("sqlserver", 1433),
    ("oracle", 1521),
    ("smb", 445),
    ("rsync", 873),
    ("kubernetes", 6443),
    ("k8s", 6443),
    ("winrm", 5985),
    ("amqp", 5672),
    ("snmp", 161),
    ("cifs", 445),
    ("git", 9418),
    ("ipp", 631),
    ("tls", 443),
    ("ssl", 443),
    ("web", 80),
];

/// Programs that people ask after as processes, not as units.
const PROGRAMS: &[&str] = &[
    "java",
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "php",
    "ruby",
    "perl",
    "bash",
    "zsh",
    "chrome",
    "chromium",
    "firefox",
    "ffmpeg",
    "rsync",
    "tar",
    "gcc",
    "cargo",
    "rustc",
    "make",
    "dd",
    "vim",
    "vi",
    "nano",
    "tmux",
    "screen",
    "npm",
    "yarn",
    "webpack",
    "qemu",
    "gzip",
    "cc1plus",
    "clang",
    "kswapd0",
    "kworker",
    "xmrig",
    "stress",
    "stress-ng",
    "electron",
    "code",
    "mysqldump",
    "pg_dump",
    "borg",
    "restic",
    "sleep",
    "puma",
    "sshd-session",
    "golang",
    "beam",
    "beam.smp",
    "deno",
    "bun",
    "스파크",
    "자바",
    "파이썬",
    "노드js",
    "크롬",
];

/// What programs are called in Korean.
const KOREAN_PROGRAMS: &[(&str, &str)] = &[
    ("자바", "java"),
    ("파이썬", "python"),
    ("크롬", "chrome"),
    ("파이어폭스", "firefox"),
    ("노드제이에스", "node"),
];

/// Beginnings of names that number hosts rather than anything else (`web1`, `db02`).
const HOST_STEMS: &[&str] = &[
    "web",
    "db",
    "app",
    "node",
    "host",
    "edge",
    "server",
    "srv",
    "vm",
    "worker",
    "master",
    "api",
    "cache",
    "lb",
    "proxy",
    "gw",
    "gateway",
    "prod",
    "staging",
    "stage",
    "dev",
    "test",
    "mail",
    "ns",
    "box",
    "machine",
    "backend",
    "frontend",
    "bastion",
    "jump",
    "build",
    "ci",
    "runner",
    "store",
    "storage",
    "nas",
    "rack",
    "pi",
    "raspberrypi",
    "client",
    "site",
    "router",
    "fw",
    "monitor",
    "mon",
    "log",
    "queue",
    "mq",
    "es",
    "kube",
    "k8s",
    "cluster",
    "replica",
    "primary",
    "secondary",
    "data",
    "compute",
    "gpu",
    "batch",
    "search",
    "qa",
    "uat",
    "demo",
];

/// Names that end in a number and are no hosts.
const NOT_HOSTS: &[&str] = &[
    "ipv4", "ipv6", "tls1", "http2", "http3", "utf8", "sha256", "sha1", "md5", "x86", "amd64", "arm64", "s3",
    "log4j", "base64", "eth0", "eth1", "wlan0", "ens3", "lo0", "sda1", "sdb1", "sha512", "python2",
    "python3", "fail2ban", "apache2", "exim4", "bind9", "tomcat9", "tomcat10", "pop3", "k3s", "kswapd0",
    "ext4", "wg0", "usr1", "usr2", "load1", "load5", "load15", "rfc3339", "iso8601", "p99", "p95", "lvl1",
    "utf-8", "utf-16", "sha-256", "sha-1", "tty1", "covid-19",
];

/// The service that people mean by `name` (lower case).
pub(super) fn service(name: &str) -> Option<&'static KnownService> {
    SERVICES.iter().find(|service| service.names.split(',').any(|known| known == name))
}

/// The port that people mean by `name` (lower case).
pub(super) fn port(name: &str) -> Option<u16> {
    PORTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, port)| *port)
        .or_else(|| service(name).map(|service| service.port).filter(|port| *port > 0))
}

/// The program that people mean by `name` (lower case).
pub(super) fn program(name: &str) -> Option<&str> {
    KOREAN_PROGRAMS
        .iter()
        .find(|(korean, _)| *korean == name)
        .map(|(_, program)| *program)
        .or_else(|| PROGRAMS.iter().find(|known| **known == name).copied())
}

/// Korean names of services, with their units.
pub(super) fn korean_names() -> impl Iterator<Item = &'static str> {
    SERVICES
        .iter()
        .flat_map(|service| service.names.split(','))
        .chain(KOREAN_PROGRAMS.iter().map(|(korean, _)| *korean))
        .filter(|name| !name.is_ascii())
}

/// Whether `name` (lower case) reads like the name of a host: `web-1`, `db02`, `ip-10-0-0-1`.
pub(super) fn looks_like_host(name: &str) -> bool {
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    if !name.starts_with(|character: char| character.is_ascii_alphabetic())
        || !name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'))
        || NOT_HOSTS.contains(&name)
        || name == "localhost"
    {
        return false;
    }
    let numbered = stem.len() < name.len();
    if numbered && stem.ends_with(['-', '_']) {
        return stem.len() > 1;
    }
    if numbered && HOST_STEMS.iter().any(|known| stem == *known || stem.ends_with(&format!("-{known}"))) {
        return true;
    }
    // db-primary, web-a, eu-west-gateway
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or("");
    let last = parts.next_back().unwrap_or("");
    !last.is_empty()
        && service(name).is_none()
        && (HOST_STEMS.contains(&last)
            && !matches!(
                last,
                "api"
                    | "worker"
                    | "proxy"
                    | "cache"
                    | "runner"
                    | "queue"
                    | "app"
                    | "test"
                    | "monitor"
                    | "web"
                    | "client"
                    | "search"
                    | "log"
                    | "data"
                    | "gateway"
                    | "backend"
                    | "frontend"
                    | "batch"
                    | "server"
                    | "store"
                    | "build"
                    | "router"
                    | "master"
                    | "node"
                    | "site"
                    | "mail"
            )
            || HOST_STEMS.contains(&first)
                && (last.len() == 1
                    || matches!(
                        last,
                        "primary"
                            | "replica"
                            | "master"
                            | "prod"
                            | "staging"
                            | "dev"
                            | "main"
                            | "east"
                            | "west"
                    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_hosts_and_versions_are_not() {
        for name in ["web-1", "db02", "ip-10-0-0-1", "prod-web-02", "node4", "db-primary", "edge-3", "foo-17"]
        {
            assert!(looks_like_host(name), "{name}");
        }
        for name in
            ["python3", "ipv6", "nginx", "localhost", "sha256", "payment-api", "fail2ban", "my-worker"]
        {
            assert!(!looks_like_host(name), "{name}");
        }
    }

    #[test]
    fn a_name_belongs_to_one_service() {
        let mut names: Vec<&str> = SERVICES.iter().flat_map(|service| service.names.split(',')).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
