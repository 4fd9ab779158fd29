-- Times are microseconds since 1970 in UTC, in both databases, so that one text of SQL serves both.
-- COLLATE "C": names are sorted and compared by their bytes, as SQLite does. Constraints are called TABLE_FIELD_key:
-- an error names the field from it.
CREATE TABLE users (
    id TEXT COLLATE "C" NOT NULL CONSTRAINT users_id_key PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name TEXT COLLATE "C" NOT NULL,
    email TEXT COLLATE "C",
    -- Lower case of what people search by: the databases disagree on what lower() and LIKE mean.
    search_text TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C",
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
    provider TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    CONSTRAINT identities_subject_key PRIMARY KEY (provider, subject)
);
CREATE INDEX identities_by_user ON identities (user_id, provider, subject);

CREATE TABLE sessions (
    id TEXT COLLATE "C" NOT NULL CONSTRAINT sessions_id_key PRIMARY KEY,
    token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    generation BIGINT NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at, id);
CREATE INDEX sessions_by_time ON sessions (created_at, id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE api_keys (
    id TEXT COLLATE "C" NOT NULL CONSTRAINT api_keys_id_key PRIMARY KEY,
    token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name TEXT COLLATE "C" NOT NULL,
    -- A JSON list of words.
    scopes TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    last_used_address TEXT COLLATE "C",
    revoked_at BIGINT
);
CREATE UNIQUE INDEX api_keys_name_key ON api_keys (user_id, name) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at, id);
CREATE INDEX api_keys_by_time ON api_keys (created_at, id);

CREATE TABLE audit (
    position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    at BIGINT NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id TEXT COLLATE "C",
    actor_name TEXT COLLATE "C" NOT NULL,
    via TEXT COLLATE "C",
    action TEXT COLLATE "C" NOT NULL,
    object_kind TEXT COLLATE "C" NOT NULL,
    object_name TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C",
    outcome TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C",
    before_json TEXT COLLATE "C",
    after_json TEXT COLLATE "C",
    address TEXT COLLATE "C",
    request_id TEXT COLLATE "C"
);
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_actor ON audit (actor_id, position);
CREATE INDEX audit_by_account ON audit (account, position);
CREATE INDEX audit_by_object ON audit (object_kind, object_name, position);

-- Holds a row only inside the transaction of a retention run, which nobody else can see.
CREATE TABLE audit_permit (
    before_at BIGINT NOT NULL
);

CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM audit_permit WHERE OLD.at < before_at) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only';
END;
$$;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE ON audit
FOR EACH ROW EXECUTE FUNCTION audit_append_only();

CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
