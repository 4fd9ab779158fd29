-- Who but its owner may see what listens on a port of a workspace.
CREATE TABLE shared_ports (
    namespace TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    port BIGINT NOT NULL,
    -- Of the workspace: another of the same name is not shared.
    uid TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    kind TEXT COLLATE "C" NOT NULL,
    secret_hash TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    CONSTRAINT shared_ports_place_key PRIMARY KEY (namespace, workspace, port)
);
CREATE INDEX shared_ports_by_secret ON shared_ports (secret_hash);

-- Tickets, which are good for one use, and the visits that they become.
CREATE TABLE port_visits (
    token_hash TEXT COLLATE "C" NOT NULL CONSTRAINT port_visits_token_hash_key PRIMARY KEY,
    ticket BOOLEAN NOT NULL,
    proof TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    uid TEXT COLLATE "C" NOT NULL,
    port BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX port_visits_by_time ON port_visits (expires_at);
