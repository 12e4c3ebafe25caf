-- Procedures (SOPs), the list of approvers, and approvals that people give by their signatures.
-- Times are microseconds since the epoch; UUIDs are 16 bytes; JSON is text.

CREATE TABLE sops (
    id          TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    -- As it was signed, byte for byte, and its detached signature.
    document    BLOB   NOT NULL,
    signature   BLOB   NOT NULL,
    -- Fingerprint of the key that signed it.
    signer      TEXT   NOT NULL,
    imported_at BIGINT NOT NULL,
    imported_by BIGINT NOT NULL,
    revoked_at  BIGINT,
    revoked_by  BIGINT,
    PRIMARY KEY (id, version)
);

-- How often a step was started on a host. A run counts when its call becomes `running`, whatever comes of it.
CREATE TABLE sop_runs (
    sop_id  TEXT   NOT NULL,
    version BIGINT NOT NULL,
    step    TEXT   NOT NULL,
    edge_id BIGINT NOT NULL,
    runs    BIGINT NOT NULL,
    PRIMARY KEY (sop_id, version, step, edge_id)
);

CREATE TABLE approver_lists (
    version     BIGINT NOT NULL PRIMARY KEY,
    document    BLOB   NOT NULL,
    signature   BLOB   NOT NULL,
    imported_at BIGINT NOT NULL,
    imported_by BIGINT NOT NULL
);

-- Keys that people offer for the list. Nothing is trusted because it is here.
CREATE TABLE approver_keys (
    id            BLOB   NOT NULL PRIMARY KEY,
    user_id       BIGINT NOT NULL REFERENCES users (id),
    kind          TEXT   NOT NULL CHECK (kind IN ('ed25519', 'webauthn')),
    -- SubjectPublicKeyInfo, and the first 16 hex digits of its SHA-256.
    public        BLOB   NOT NULL,
    key_id        TEXT   NOT NULL UNIQUE,
    -- What the browser calls a passkey by.
    credential_id TEXT,
    label         TEXT   NOT NULL,
    offered_at    BIGINT NOT NULL
);
CREATE INDEX approver_keys_user ON approver_keys (user_id, offered_at);

-- What an approval needs that people give by their signatures, and the statement that they sign.
CREATE TABLE approval_signing (
    approval_id        BLOB   NOT NULL PRIMARY KEY REFERENCES approvals (id),
    needed             BIGINT NOT NULL,
    independent_needed BIGINT NOT NULL,
    -- The step of a procedure, for a dangerous call.
    sop_id             TEXT,
    sop_version        BIGINT,
    sop_step           TEXT,
    -- The canonical text with a nonce of the host's edge, the edge's process that gave it, and when it is void.
    statement          TEXT,
    instance           TEXT,
    not_after          BIGINT
);

-- Signatures over the statement that is open. They go with it.
CREATE TABLE approval_signatures (
    approval_id BLOB   NOT NULL REFERENCES approvals (id),
    -- The person as the list of approvers names them, and their account.
    person      TEXT   NOT NULL,
    user_id     BIGINT NOT NULL,
    key_id      TEXT   NOT NULL,
    kind        TEXT   NOT NULL,
    -- The whole signature, JSON.
    signature   TEXT   NOT NULL,
    signed_at   BIGINT NOT NULL,
    PRIMARY KEY (approval_id, person)
);
