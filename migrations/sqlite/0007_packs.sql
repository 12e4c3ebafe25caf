-- Packs that an admin accepted, by what they are: digest and definitions. A pack that isn't here is inert.

CREATE TABLE pack_pins (
    -- SHA-256 (hex) over digest, name, version and definitions.
    pin         TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL,
    digest      TEXT   NOT NULL,
    -- The pack as it was shown to who accepted it.
    pack        TEXT   NOT NULL,
    accepted_at BIGINT NOT NULL,
    accepted_by BIGINT NOT NULL
);
