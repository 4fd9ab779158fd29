-- What has begun and is not in the audit log yet. An entry leaves with the transaction that writes it into the log, so what
-- stays is what a process did not live to tell.
CREATE TABLE audit_begun (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    entry_json TEXT NOT NULL
);
CREATE INDEX audit_begun_by_time ON audit_begun (at);
