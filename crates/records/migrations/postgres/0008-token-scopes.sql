-- What an access token may tell, if that is less than its grant: words with a space between.
ALTER TABLE issuer_tokens ADD COLUMN scopes TEXT;
CREATE INDEX issuer_tokens_by_grant ON issuer_tokens (grant_id);
