CREATE TABLE ssh_keys (
    id TEXT COLLATE "C" NOT NULL CONSTRAINT ssh_keys_id_key PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    title TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT
);
-- A key says who somebody is, so it is one user's alone.
CREATE UNIQUE INDEX ssh_keys_fingerprint_key ON ssh_keys (fingerprint) WHERE revoked_at IS NULL;
CREATE INDEX ssh_keys_by_user ON ssh_keys (user_id, created_at, id);

-- Secrets of the portal itself, the same for all its processes, such as the key of the SSH host.
CREATE TABLE secrets (
    name TEXT COLLATE "C" NOT NULL CONSTRAINT secrets_name_key PRIMARY KEY,
    body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
