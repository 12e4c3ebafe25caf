-- Hosts, their certificates, and the tokens with which they join.
-- Presence is not here: who is connected is a fact of this process alone. Times are microseconds since the epoch.

CREATE TABLE edges (
    -- Never used twice: calls and certificates keep naming an edge after it is gone.
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    name                 TEXT    NOT NULL,
    hostname             TEXT    NOT NULL,
    labels               TEXT    NOT NULL,
    state                TEXT    NOT NULL CHECK (state IN ('active', 'quarantined', 'revoked', 'deleted')),
    state_reason         TEXT,
    -- While quarantined: the instances that both claim to be this edge.
    contestants          TEXT    NOT NULL DEFAULT '[]',
    -- After a quarantine was resolved: the one instance that may come back.
    keep_instance        TEXT,
    -- Until when an edge whose certificate ran out may prove its old key for a new one.
    rejoin_until         BIGINT,
    -- The rolling epoch that the edge has confirmed, and the one that it was handed and may or may not have kept.
    epoch                BIGINT  NOT NULL DEFAULT 0,
    epoch_offered        BIGINT,
    -- Numbers of the dispatches that aren't safe.
    last_seq             BIGINT  NOT NULL DEFAULT 0,
    acknowledged_through BIGINT  NOT NULL DEFAULT 0,
    -- What it last said of itself.
    instance_id          TEXT,
    description          TEXT,
    address              TEXT,
    created_at           BIGINT  NOT NULL,
    connected_at         BIGINT,
    last_seen_at         BIGINT
);

CREATE UNIQUE INDEX edges_name ON edges (name) WHERE state <> 'deleted';

CREATE TABLE edge_certificates (
    serial     TEXT    NOT NULL PRIMARY KEY,
    edge_id    BIGINT  NOT NULL REFERENCES edges (id),
    not_before BIGINT  NOT NULL,
    not_after  BIGINT  NOT NULL,
    issued_at  BIGINT  NOT NULL,
    revoked_at BIGINT
);

CREATE INDEX edge_certificates_edge ON edge_certificates (edge_id, issued_at);

CREATE TABLE enrollment_tokens (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash BLOB    NOT NULL UNIQUE,
    labels     TEXT    NOT NULL,
    created_by BIGINT  NOT NULL,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    used_at    BIGINT,
    revoked_at BIGINT,
    edge_id    BIGINT  REFERENCES edges (id)
);
