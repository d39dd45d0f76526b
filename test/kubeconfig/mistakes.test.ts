/** Each mistake in a kubeconfig is reported with the file, the context and what to do. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { silentLogger } from '../../lib/base/logger.ts'
import { KubeconfigAccess } from '../../lib/kubeconfig/kubeconfig-access.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { madeSystem, oneContext } from '../support/kubeconfig/made-system.ts'

const file = '/home/me/.kube/config'

interface Mistake {
  readonly text: string
  readonly says: string
  readonly context?: string
}

async function problemOf({ text, context }: Mistake): Promise<string> {
  const system = madeSystem({ files: { [file]: text } })
  const options = { system, context, clock: new FakeClock(), logger: silentLogger }
  try {
    const access = await KubeconfigAccess.open(options)
    access.stop()
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

function plugin(changes: Readonly<Record<string, unknown>>): string {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'aws',
    interactiveMode: 'Never',
    ...changes,
  }
  return oneContext({ exec })
}

const certs = 'test/support/certs'
const [clientPem, serverKey] = ['client.pem', 'server.key'].map(name =>
  readFileSync(`${certs}/${name}`).toString('base64'),
)

const inDev = `kubeconfig ${file}: context "dev"`
const ofUser = `${inDev}, user "me"`
const ofCluster = `${inDev}, cluster "c"`

const mistakes: Readonly<Record<string, Mistake>> = {
  'no YAML': {
    text: 'a: [1',
    says: `kubeconfig ${file}: it is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 6`,
  },
  'a text': { text: 'hello', says: `kubeconfig ${file}: it is a text, and no kubeconfig` },
  'another kind': {
    text: 'apiVersion: v1\nkind: Pod\n',
    says: `kubeconfig ${file}: it is of kind "Pod" and apiVersion "v1"; a kubeconfig is of kind "Config" and apiVersion "v1"`,
  },
  'a number in place of a text': {
    text: 'clusters: [{name: c, cluster: {server: 5}}]',
    says: `kubeconfig ${file}: clusters[0].cluster.server is a number; it must be a text (write it in quotes)`,
  },
  'a list in place of an object': {
    text: 'users: [{name: u, user: [1]}]',
    says: `kubeconfig ${file}: users[0].user is a list; it must be an object`,
  },
  'an object in place of a list': {
    text: 'contexts: {a: 1}',
    says: `kubeconfig ${file}: contexts is an object; it must be a list`,
  },
  'a text in place of a switch': {
    text: 'clusters: [{name: c, cluster: {insecure-skip-tls-verify: "yes"}}]',
    says: `kubeconfig ${file}: clusters[0].cluster.insecure-skip-tls-verify is a text; it must be true or false`,
  },
  'no base64': {
    text: 'clusters: [{name: c, cluster: {certificate-authority-data: "-----BEGIN"}}]',
    says: `kubeconfig ${file}: clusters[0].cluster.certificate-authority-data is not base64; the contents of a file are written there by "base64 -w0 FILE"`,
  },
  'two of a name': {
    text: 'users: [{name: u}, {name: u}]',
    says: `kubeconfig ${file}: users has two entries with the name "u"; rename or delete one`,
  },
  'no context': {
    text: '{}',
    says: `kubeconfig ${file}: no context is current; it has no contexts at all`,
  },
  'no current context': {
    text: 'contexts: [{name: b}, {name: a}]',
    says: `kubeconfig ${file}: no context is current; choose one with --context or "kubectl config use-context": a, b`,
  },
  'a current context that is none': {
    text: 'current-context: x\ncontexts: [{name: a}]',
    says: `kubeconfig ${file}: current-context is "x", which is no context of it; choose one with --context or "kubectl config use-context": a`,
  },
  'an unknown context': {
    text: oneContext({}),
    context: 'prod',
    says: `kubeconfig ${file}: there is no context "prod"; choose one with --context or "kubectl config use-context": dev`,
  },
  'many contexts': {
    text: JSON.stringify({ contexts: Array.from({ length: 14 }, (_, i) => ({ name: `c${i}` })) }),
    says: `kubeconfig ${file}: no context is current; choose one with --context or "kubectl config use-context": c0, c1, c10, c11, c12, c13, c2, c3, c4, c5, c6, c7 and 2 more`,
  },
  'an unknown cluster': {
    text: 'current-context: dev\ncontexts: [{name: dev, context: {cluster: c}}]',
    says: `${inDev} names the cluster "c", which ${file} does not have; name one with "kubectl config set-context": (there is none)`,
  },
  'no cluster': {
    text: 'current-context: dev\ncontexts: [{name: dev}]\nclusters: [{name: c}]',
    says: `${inDev} names no cluster; name one with "kubectl config set-context": c`,
  },
  'an unknown user': {
    text: oneContext({}).replace('"name":"me"', '"name":"you"'),
    says: `${inDev} names the user "me", which ${file} does not have; add it with "kubectl config set-credentials", or name another one: you`,
  },
  'no server': {
    text: oneContext({}, { server: '' }),
    says: `${ofCluster}: it has no server; add one: https://HOST:PORT`,
  },
  'a server that is no address': {
    text: oneContext({}, { server: 'ftp://x' }),
    says: `${ofCluster}: server "ftp://x" is no address of an API server; it must be https://HOST:PORT`,
  },
  'a proxy that is none': {
    text: oneContext({}, { 'proxy-url': 'socks4://x:1' }),
    says: `${ofCluster}: proxy-url is no URL of a proxy that can be used; it must be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`,
  },
  'a proxy for a server without TLS': {
    text: oneContext({}, { server: 'http://x:80', 'proxy-url': 'http://p:1' }),
    says: `${ofCluster}: proxy-url cannot be used with http://x: proxies are used for https servers only`,
  },
  'an authority that is not to be used': {
    text: oneContext({}, { 'certificate-authority': 'ca.crt', 'insecure-skip-tls-verify': true }),
    says: `${ofCluster}: certificate-authority and insecure-skip-tls-verify exclude each other; delete one of them`,
  },
  'two authorities': {
    text: oneContext({}, { 'certificate-authority': 'ca', 'certificate-authority-data': 'AAAA' }),
    says: `${ofCluster}: certificate-authority and certificate-authority-data are both given; delete one of them`,
  },
  'a missing authority': {
    text: oneContext({}, { 'certificate-authority': '~/ca.crt' }),
    says: `${ofCluster}: certificate-authority /home/me/.kube/~/ca.crt: there is no such file (~ is not replaced in a kubeconfig)`,
  },
  'an authority that is none': {
    text: oneContext({}, { 'certificate-authority-data': 'AAAA' }),
    says: `${ofCluster}: certificate-authority-data has no certificate (PEM)`,
  },
  'a certificate without a key': {
    text: oneContext({ 'client-certificate': 'me.crt' }),
    says: `${ofUser}: there is a client-certificate without a key; add client-key or client-key-data`,
  },
  "another certificate's key": {
    text: oneContext({ 'client-certificate-data': clientPem, 'client-key-data': serverKey }),
    says: `${ofUser}: client-key-data is not the key of client-certificate-data`,
  },
  'a token and a password': {
    text: oneContext({ token: 's3cret', username: 'u', password: 's3cret' }),
    says: `${ofUser}: there are a token and a username or password; only one of them may be given`,
  },
  'a token with a line break': {
    text: oneContext({ token: 's3cret\n' }),
    says: `${ofUser}: token has characters that a header cannot have, such as a line break`,
  },
  'a group with a line break': {
    text: oneContext({ as: 'you', 'as-groups': ['a\r\nX: y'] }),
    says: `${ofUser}: as-groups has characters that a header cannot have, such as a line break`,
  },
  'groups without a user': {
    text: oneContext({ 'as-groups': ['a'] }),
    says: `${ofUser}: as-uid, as-groups and as-user-extra need a user to impersonate; add "as"`,
  },
  "Google's old provider": {
    text: oneContext({ 'auth-provider': { name: 'gcp' } }),
    says: `${ofUser}: auth-provider "gcp" is not supported; install gke-gcloud-auth-plugin and run "gcloud container clusters get-credentials" again`,
  },
  'a provider named like a member of every object': {
    text: oneContext({ 'auth-provider': { name: 'toString' } }),
    says: `${ofUser}: auth-provider "toString" is not supported; use an exec plugin in its place`,
  },
  'a plugin of v1alpha1': {
    text: plugin({ apiVersion: 'client.authentication.k8s.io/v1alpha1' }),
    says: `${ofUser}: exec.apiVersion is "client.authentication.k8s.io/v1alpha1"; it must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1, as v1alpha1 is not supported since Kubernetes 1.24: write the kubeconfig again with the tool that made it`,
  },
  'a plugin of v1 without a mode': {
    text: plugin({ interactiveMode: undefined }),
    says: `${ofUser}: exec.interactiveMode is missing; it must be Never, IfAvailable or Always`,
  },
  'a plugin with another mode': {
    text: plugin({ interactiveMode: 'Sometimes' }),
    says: `${ofUser}: exec.interactiveMode is "Sometimes"; it must be Never, IfAvailable or Always`,
  },
  'a plugin without a command': {
    text: plugin({ command: '', installHint: 'brew install \u001b[1maws' }),
    says: `${ofUser}: exec.command is missing (brew install U+001B[1maws)`,
  },
  'a variable without a name': {
    text: plugin({ env: [{ value: 's3cret' }] }),
    says: `${ofUser}: exec.env has a variable without a name`,
  },
  'two at once': {
    text: oneContext(
      { 'as-uid': '1' },
      { 'certificate-authority': 'ca', 'certificate-authority-data': 'AAAA' },
    ),
    says: `${ofCluster}: certificate-authority and certificate-authority-data are both given; delete one of them; ${ofUser}: as-uid, as-groups and as-user-extra need a user to impersonate; add "as"`,
  },
}

for (const [name, mistake] of Object.entries(mistakes)) {
  t.test(`a mistake: ${name}`, async t => {
    const problem = await problemOf(mistake)
    t.equal(problem, mistake.says)
    t.notMatch(problem, /s3cret/)
  })
}

t.test('where there is no kubeconfig, the message says where it was looked for', async t => {
  const open = async (made: Parameters<typeof madeSystem>[0], kubeconfig?: string) => {
    const options = { kubeconfig, clock: new FakeClock(), logger: silentLogger }
    return KubeconfigAccess.open({ ...options, system: madeSystem(made) })
  }
  await t.rejects(open({}), {
    code: 'invalid_request',
    message:
      'there is no kubeconfig: /home/me/.kube/config does not exist, and neither --kubeconfig nor KUBECONFIG names another file',
  })
  await t.rejects(open({ env: { KUBECONFIG: '/a::/b:/a' } }), {
    message: 'there is no kubeconfig: none of the files that KUBECONFIG names exists (/a, /b)',
  })
  await t.rejects(open({ env: { KUBECONFIG: '/a' } }, '/c'), {
    message:
      '--kubeconfig /c does not exist; without the option the files of KUBECONFIG are used, or ~/.kube/config',
  })
})
