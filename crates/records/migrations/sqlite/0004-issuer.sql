-- Keys that sign tokens. The private part is sealed with a secret that is not in this database.
CREATE TABLE issuer_keys (
    id TEXT NOT NULL PRIMARY KEY,
    sealed TEXT NOT NULL,
    -- The public part as a JSON Web Key.
    public_json TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX issuer_keys_by_time ON issuer_keys (created_at, id);

-- Requests of clients that wait for their user: to sign in, or to agree.
CREATE TABLE issuer_interactions (
    id TEXT NOT NULL PRIMARY KEY,
    -- Who has to answer; nobody until somebody has signed in.
    user_id TEXT REFERENCES users (id),
    request TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    done_at BIGINT
);
CREATE INDEX issuer_interactions_by_end ON issuer_interactions (expires_at);

-- What somebody granted a client once. Codes and tokens belong to one, and end with it.
CREATE TABLE issuer_grants (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    generation BIGINT NOT NULL,
    client TEXT NOT NULL,
    -- Words with a space between.
    scopes TEXT NOT NULL,
    signed_in_at BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX issuer_grants_by_user ON issuer_grants (user_id, created_at, id);
CREATE INDEX issuer_grants_by_end ON issuer_grants (expires_at);

CREATE TABLE issuer_codes (
    token_hash TEXT NOT NULL PRIMARY KEY,
    grant_id TEXT NOT NULL,
    redirect TEXT NOT NULL,
    challenge TEXT,
    nonce TEXT,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX issuer_codes_by_end ON issuer_codes (expires_at);

CREATE TABLE issuer_tokens (
    token_hash TEXT NOT NULL PRIMARY KEY,
    grant_id TEXT NOT NULL,
    -- access or refresh
    kind TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX issuer_tokens_by_end ON issuer_tokens (expires_at);

CREATE TABLE issuer_devices (
    token_hash TEXT NOT NULL PRIMARY KEY,
    user_code TEXT NOT NULL UNIQUE,
    client TEXT NOT NULL,
    scopes TEXT NOT NULL,
    -- Set when somebody agreed.
    grant_id TEXT,
    interval_seconds BIGINT NOT NULL,
    polled_at BIGINT,
    denied_at BIGINT,
    used_at BIGINT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX issuer_devices_by_end ON issuer_devices (expires_at);

-- Kubeconfigs that were given out, one for each device of a user.
CREATE TABLE kubeconfigs (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    mode TEXT NOT NULL,
    device TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX kubeconfigs_by_user ON kubeconfigs (user_id, created_at, id);
