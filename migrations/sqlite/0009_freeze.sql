-- Where changes are stopped: everywhere, or on one host that is read-only. A row is there for as long as it lasts.

CREATE TABLE freezes (
    -- The host; 0 for everywhere.
    edge_id BIGINT NOT NULL PRIMARY KEY,
    since   BIGINT NOT NULL,
    by_user BIGINT NOT NULL,
    reason  TEXT
);
