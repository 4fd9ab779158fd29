-- Who but its owner may see what listens on a port of a workspace.
CREATE TABLE shared_ports (
    namespace TEXT NOT NULL,
    workspace TEXT NOT NULL,
    port BIGINT NOT NULL,
    -- Of the workspace: another of the same name is not shared.
    uid TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    kind TEXT NOT NULL,
    secret_hash TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (namespace, workspace, port)
);
CREATE INDEX shared_ports_by_secret ON shared_ports (secret_hash);

-- Tickets, which are good for one use, and the visits that they become.
CREATE TABLE port_visits (
    token_hash TEXT NOT NULL PRIMARY KEY,
    ticket BOOLEAN NOT NULL,
    proof TEXT NOT NULL,
    namespace TEXT NOT NULL,
    workspace TEXT NOT NULL,
    uid TEXT NOT NULL,
    port BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX port_visits_by_time ON port_visits (expires_at);
