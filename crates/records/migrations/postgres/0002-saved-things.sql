CREATE TABLE templates (
    id TEXT COLLATE "C" NOT NULL CONSTRAINT templates_id_key PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    -- The account it is shared with, if it is.
    account TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT templates_name_key UNIQUE (user_id, kind, name)
);
CREATE INDEX templates_by_user ON templates (user_id, created_at, id);
CREATE INDEX templates_by_account ON templates (account, created_at, id);

CREATE TABLE preferences (
    user_id TEXT COLLATE "C" NOT NULL CONSTRAINT preferences_user_id_key PRIMARY KEY REFERENCES users (id),
    body TEXT COLLATE "C" NOT NULL,
    updated_at BIGINT NOT NULL
);

-- One row per name or address that tries: when it will have paid off what it tried.
CREATE TABLE login_attempts (
    subject TEXT COLLATE "C" NOT NULL CONSTRAINT login_attempts_subject_key PRIMARY KEY,
    due_at BIGINT NOT NULL
);
CREATE INDEX login_attempts_by_time ON login_attempts (due_at);
