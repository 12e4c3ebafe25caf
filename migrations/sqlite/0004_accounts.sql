-- Accounts, browser sign-ins, API tokens, settings that people change at run time, and model providers.
-- Times are microseconds since the epoch; tokens are kept as SHA-256 only.

CREATE TABLE users (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    name                 TEXT    NOT NULL,
    display_name         TEXT    NOT NULL,
    kind                 TEXT    NOT NULL CHECK (kind IN ('person', 'service')),
    roles                TEXT    NOT NULL,
    password_hash        TEXT,
    must_change_password INTEGER NOT NULL DEFAULT 0,
    disabled             INTEGER NOT NULL DEFAULT 0,
    created_at           BIGINT  NOT NULL,
    password_changed_at  BIGINT  NOT NULL,
    -- Audit rows keep naming who did something, so an account is never removed, only marked.
    deleted_at           BIGINT
);

CREATE UNIQUE INDEX users_name ON users (name) WHERE deleted_at IS NULL;

CREATE TABLE signins (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT  NOT NULL REFERENCES users (id),
    token_hash   BLOB    NOT NULL UNIQUE,
    address      TEXT    NOT NULL,
    created_at   BIGINT  NOT NULL,
    last_seen_at BIGINT  NOT NULL,
    expires_at   BIGINT  NOT NULL
);

CREATE INDEX signins_user ON signins (user_id);

CREATE TABLE api_tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT  NOT NULL REFERENCES users (id),
    name         TEXT    NOT NULL,
    token_hash   BLOB    NOT NULL UNIQUE,
    hint         TEXT    NOT NULL,
    scopes       TEXT    NOT NULL,
    created_at   BIGINT  NOT NULL,
    expires_at   BIGINT,
    last_used_at BIGINT,
    revoked_at   BIGINT
);

CREATE INDEX api_tokens_user ON api_tokens (user_id, id);

CREATE TABLE settings (
    key        TEXT   PRIMARY KEY,
    value      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by BIGINT NOT NULL
);

CREATE TABLE model_providers (
    name       TEXT   PRIMARY KEY,
    kind       TEXT   NOT NULL,
    base_url   TEXT,
    model      TEXT   NOT NULL,
    -- Sealed with the key file; the record's name is associated data.
    api_key    BLOB,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
