-- What an administrator lets a user have, where that differs: a JSON object of amounts by the word for what is limited.
ALTER TABLE users ADD COLUMN limits TEXT;
