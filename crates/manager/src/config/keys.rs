//! Every key that there is. `*` stands for a name that the writer chooses.

/// Every key that there is.
pub(super) const KNOWN: &[&str] = &[
    "http.listen",
    "http.tls_cert",
    "http.tls_key",
    "http.public_url",
    "http.allowed_hosts",
    "http.trusted_proxies",
    "http.idle_timeout",
    "http.absolute_timeout",
    "tunnel.listen",
    "tunnel.public_address",
    "tunnel.cert_ttl",
    "storage.dir",
    "chat.access_mode",
    "chat.model_requests",
    "chat.calls_per_round",
    "chat.turn_timeout",
    "security.tool_policy.default",
    "security.tool_policy.groups.*",
    "security.tool_policy.tools.*",
    "security.redaction.patterns",
    "security.approval.decide_by_seconds",
    "security.approval.decide_by_dangerous_seconds",
    "security.approval.valid_for_seconds",
    "security.approval.self_approval",
    "security.approval.grants_after_untrusted",
    "security.approval.notify_url",
    "security.approval.notify_secret_file",
    "security.approval.push_url",
    "security.approval.push_token_file",
    "security.approval.mail_server",
    "security.approval.mail_user",
    "security.approval.mail_password_file",
    "security.approval.mail_from",
    "security.approval.mail_to",
    "security.sop.trusted_keys",
    "security.approvers.root_key",
    "security.approvers.origin",
    "security.approvers.rp_id",
    "security.limits.calls_per_hour_by_user",
    "security.limits.calls_per_hour_by_tool",
    "security.limits.calls_per_hour_by_edge",
    "security.limits.calls_at_once_by_user",
    "security.limits.calls_at_once_by_tool",
    "security.limits.calls_at_once_by_edge",
    "security.probes.allow",
    "security.sandbox.enabled",
    "security.sandbox.backend",
    "security.sandbox.firejail_args",
    "security.sandbox.safe_groups",
    "security.resources.max_memory_mb",
    "security.resources.max_cpu_percent",
    "security.resources.max_open_files",
    "security.resources.max_pids",
    "packs.dirs",
    "packs.default_class",
    "packs.network",
    "packs.write_roots",
    "models.*.kind",
    "models.*.base_url",
    "models.*.api_key",
    "models.*.model",
    "telemetry.otlp_endpoint",
    "telemetry.log",
    "telemetry.log_format",
];

/// Whether there is such a key.
pub(super) fn is_known(key: &[String]) -> bool {
    KNOWN.iter().any(|known| fits(known, key))
}

/// Whether keys begin with this, so that it must be a table.
pub(super) fn is_section(key: &[String]) -> bool {
    KNOWN.iter().any(|known| {
        let parts: Vec<&str> = known.split('.').collect();
        parts.len() > key.len() && parts.iter().zip(key).all(|(part, given)| *part == "*" || part == given)
    })
}

fn fits(known: &str, key: &[String]) -> bool {
    let parts: Vec<&str> = known.split('.').collect();
    parts.len() == key.len() && parts.iter().zip(key).all(|(part, given)| *part == "*" || part == given)
}

/// The known key that is most like this one, with the writer's own names put in for `*`.
pub(super) fn nearest(key: &[String]) -> Option<String> {
    let given = key.join(".");
    let candidates = KNOWN.iter().flat_map(|known| {
        let parts: Vec<&str> = known.split('.').collect();
        let filled: Vec<&str> = parts
            .iter()
            .enumerate()
            .map(
                |(index, part)| {
                    if *part == "*" { key.get(index).map_or("NAME", String::as_str) } else { part }
                },
            )
            .collect();
        // A whole section may be misspelt, so its prefixes count too.
        (1..=filled.len()).map(move |length| filled[..length].join("."))
    });
    candidates
        .map(|candidate| (strsim::jaro_winkler(&given, &candidate), candidate))
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .filter(|(similarity, _)| *similarity > 0.8)
        .map(|(_, candidate)| candidate)
}
