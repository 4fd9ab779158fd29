// A real OIDC provider with two people, for tests: `node provider.mjs PORT REDIRECT_URI`. It asks for a name and takes
// any password; consent is asked for as well.
import Provider from 'oidc-provider';

const [port, redirect] = process.argv.slice(2);
const people = {
  ada: { preferred_username: 'ada', name: 'Ada Lovelace', email: 'ada@corp.example', groups: ['gpu-admins'] },
  eve: { preferred_username: 'admin', name: 'Eve', email: 'ada@corp.example', groups: ['others'] },
};

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'maar',
      client_secret: 'a secret of the provider',
      redirect_uris: [redirect],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email'], groups: ['groups'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: `subject-of-${id}`, ...people[id] }) }),
  features: { devInteractions: { enabled: true } },
  cookies: { keys: ['for tests'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
