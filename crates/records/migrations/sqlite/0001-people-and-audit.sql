-- Times are microseconds since 1970 in UTC, in both databases, so that one text of SQL serves both.
CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    email TEXT,
    -- Lower case of what people search by: the databases disagree on what lower() and LIKE mean.
    search_text TEXT NOT NULL,
    password_hash TEXT,
    password_changed_at BIGINT,
    must_change_password BOOLEAN NOT NULL,
    admin BOOLEAN NOT NULL,
    -- Counted up whenever all sessions must end; a session of an older generation is dead.
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_login_at BIGINT,
    disabled_at BIGINT,
    expires_at BIGINT
);

CREATE TABLE identities (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (provider, subject)
);
CREATE INDEX identities_by_user ON identities (user_id, provider, subject);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id),
    generation BIGINT NOT NULL,
    provider TEXT NOT NULL,
    address TEXT,
    agent TEXT,
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at, id);
CREATE INDEX sessions_by_time ON sessions (created_at, id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    -- A JSON list of words.
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    last_used_address TEXT,
    revoked_at BIGINT
);
CREATE UNIQUE INDEX api_keys_name_key ON api_keys (user_id, name) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at, id);
CREATE INDEX api_keys_by_time ON api_keys (created_at, id);

CREATE TABLE audit (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at BIGINT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    actor_name TEXT NOT NULL,
    via TEXT,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_name TEXT NOT NULL,
    account TEXT,
    outcome TEXT NOT NULL,
    detail TEXT,
    before_json TEXT,
    after_json TEXT,
    address TEXT,
    request_id TEXT
);
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_actor ON audit (actor_id, position);
CREATE INDEX audit_by_account ON audit (account, position);
CREATE INDEX audit_by_object ON audit (object_kind, object_name, position);

-- Holds a row only inside the transaction of a retention run, which nobody else can see.
CREATE TABLE audit_permit (
    before_at BIGINT NOT NULL
);

CREATE TRIGGER audit_is_not_updated BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_permit WHERE OLD.at < before_at)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- INSERT OR REPLACE would delete the old row past the trigger above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id OR position = NEW.position)
BEGIN
    SELECT RAISE(IGNORE);
END;
