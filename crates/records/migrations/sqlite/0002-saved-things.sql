CREATE TABLE templates (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- The account it is shared with, if it is.
    account TEXT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (user_id, kind, name)
);
CREATE INDEX templates_by_user ON templates (user_id, created_at, id);
CREATE INDEX templates_by_account ON templates (account, created_at, id);

CREATE TABLE preferences (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    body TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- One row per name or address that tries: when it will have paid off what it tried.
CREATE TABLE login_attempts (
    subject TEXT NOT NULL PRIMARY KEY,
    due_at BIGINT NOT NULL
);
CREATE INDEX login_attempts_by_time ON login_attempts (due_at);
