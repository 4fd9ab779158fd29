// A certified client against a provider, for tests: `node client.mjs ISSUER SECRET`. Says where a browser has to go, reads
// where it came back, and says what came of everything, one line of JSON each.
import { createInterface } from 'node:readline';
import * as openid from 'openid-client';

const [issuer, secret] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => (await lines.next()).value;
const say = (value) => console.log(JSON.stringify(value));
const refused = async (promise) => promise.then(() => 'nothing', (error) => error.error ?? error.code ?? error.message);

// Loopback has no TLS here; the second checks the signature of every token with the keys that the provider shows.
const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks];
const tool = await openid.discovery(new URL(issuer), 'tool', {}, openid.ClientSecretBasic(secret), { execute });
const redirect = 'https://tool.example/callback';

const verifier = openid.randomPKCECodeVerifier();
const [state, nonce] = [openid.randomState(), openid.randomNonce()];
const begin = openid.buildAuthorizationUrl(tool, {
  redirect_uri: redirect,
  scope: 'openid profile email groups offline_access',
  code_challenge: await openid.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  state,
  nonce,
});
say({ visit: begin.href });
const back = new URL(await read());
const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
const fixed = await refused(openid.authorizationCodeGrant(tool, back, { ...checks, expectedState: 'another' }));
const tokens = await openid.authorizationCodeGrant(tool, back, checks);
const claims = tokens.claims();
const userinfo = await openid.fetchUserInfo(tool, tokens.access_token, claims.sub);
const rotated = await openid.refreshTokenGrant(tool, tokens.refresh_token);
await openid.tokenRevocation(tool, rotated.refresh_token);
const revoked = await refused(openid.refreshTokenGrant(tool, rotated.refresh_token));
say({ claims, userinfo, rotated: rotated.refresh_token !== tokens.refresh_token, revoked, fixed });

const device = await openid.discovery(new URL(issuer), 'maar-cli', {}, openid.None(), { execute });
const begun = await openid.initiateDeviceAuthorization(device, { scope: 'openid groups' });
say({ code: begun.user_code });
const granted = await openid.pollDeviceAuthorizationGrant(device, begun);
say({ device: granted.claims() });
