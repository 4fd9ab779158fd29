CREATE TABLE ssh_keys (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    line TEXT NOT NULL,
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
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
