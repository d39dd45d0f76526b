/** The same kubeconfigs read by kubectl (`config view --minify --flatten`) and here. */

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { silentLogger } from '../../lib/base/logger.ts'
import { objectOf, textOf } from '../../lib/base/untyped.ts'
import { chooseContext } from '../../lib/kubeconfig/file/choose.ts'
import { loadKubeconfig } from '../../lib/kubeconfig/file/load.ts'
import { readAccessTls } from '../../lib/kubeconfig/credentials/access-tls.ts'
import { KubeconfigAccess } from '../../lib/kubeconfig/kubeconfig-access.ts'
import { nodeSystem } from '../../lib/kubeconfig/node-system.ts'
import { findKubectl } from '../support/etcd/real-etcd.ts'

const { binary, skip } = await findKubectl()
const folder = mkdtempSync(join(tmpdir(), 'watchglass-kubeconfig-'))
const certs = join(process.cwd(), 'test/support/certs')
mkdirSync(join(folder, 'sub'))
for (const name of ['ca.pem', 'client.pem', 'client.key']) {
  writeFileSync(join(folder, 'sub', name), readFileSync(join(certs, name)))
}

const data = (name: string): string => readFileSync(join(certs, name)).toString('base64')

writeFileSync(
  join(folder, 'one'),
  `
current-context: files
contexts:
- {name: files, context: {cluster: beside, user: beside, namespace: here}}
- {name: both, context: {cluster: other, user: token}}
clusters:
- {name: beside, cluster: {server: 'https://a.example:6443', certificate-authority: sub/ca.pem, tls-server-name: b}}
users:
- name: beside
  user: {client-certificate: ./sub/client.pem, client-key: sub/../sub/client.key, unknown: 1}
- {name: twice, user: {username: first}}
`,
)
writeFileSync(
  join(folder, 'sub', 'two'),
  `
apiVersion: v1
kind: Config
current-context: data
contexts:
- {name: files, context: {cluster: other, user: token, namespace: lost}}
- {name: data, context: {cluster: data, user: data}}
- {name: twice, context: {cluster: other, user: twice}}
- {name: plugin, context: {cluster: other, user: plugin}}
clusters:
- {name: other, cluster: {server: 'https://[::1]:6443/prefix', insecure-skip-tls-verify: true, proxy-url: 'http://u:p@p:1'}}
- {name: data, cluster: {server: 'https://c.example', certificate-authority-data: ${data('ca.pem')}}}
users:
- {name: token, user: {token: abc, as: you, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [v, w]}}}
- {name: data, user: {client-certificate-data: ${data('client.pem')}, client-key-data: ${data('client.key')}}}
- {name: twice, user: {username: second, password: lost}}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./login
      args: [-x, z]
      env: [{name: A, value: b}]
      provideClusterInfo: true
`,
)

interface Case {
  readonly env?: string
  readonly file?: string
  readonly context?: string
}

const both = `${folder}/one:${folder}/missing::${folder}/sub/two`
const cases: readonly Case[] = [
  { env: `${folder}/one` },
  { env: both },
  { env: `${folder}/sub/two:${folder}/one` },
  { env: both, context: 'both' },
  { env: both, context: 'data' },
  { env: both, context: 'twice' },
  { env: both, context: 'plugin' },
  { env: both, file: join(folder, 'sub/two') },
  { env: both, file: join(folder, 'sub/two'), context: 'files' },
]

async function byKubectl({ env = '', file, context }: Case): Promise<unknown> {
  const args = [
    ...(file === undefined ? [] : ['--kubeconfig', file]),
    ...(context === undefined ? [] : ['--context', context]),
  ]
  const { stdout } = await promisify(execFile)(
    binary,
    [...args, 'config', 'view', '--minify', '--flatten', '--raw', '-o', 'json'],
    { env: { PATH: process.env['PATH'] ?? '', KUBECONFIG: env, HOME: folder } },
  )
  const view = JSON.parse(stdout) as {
    contexts: { name: string; context: object }[]
    clusters: { name: string; cluster: object }[]
    users: { name: string; user: object }[]
  }
  const [context0, cluster, user] = [view.contexts[0], view.clusters[0], view.users[0]]
  return {
    context: { name: context0?.name, namespace: 'default', ...objectOf(context0?.context) },
    cluster: { name: cluster?.name, ...cluster?.cluster },
    user: { name: user?.name, ...user?.user },
  }
}

/** Our reading, in the words of a kubeconfig. */
async function byUs({ env = '', file, context }: Case): Promise<unknown> {
  const system = nodeSystem({ KUBECONFIG: env, HOME: folder })
  const { kubeconfig } = await loadKubeconfig(file, system)
  const chosen = chooseContext(kubeconfig, context, system.env)
  if (chosen?.user === undefined) return undefined
  const { cluster, user } = chosen
  const tls = await readAccessTls(chosen, path => system.readFile(path))
  const { impersonation: as, exec } = user
  return {
    context: {
      name: chosen.name,
      cluster: cluster.name,
      user: user.name,
      namespace: chosen.namespace,
    },
    cluster: filled({
      name: cluster.name,
      server: cluster.server,
      'tls-server-name': cluster.tlsServerName,
      'insecure-skip-tls-verify': cluster.isUnverified,
      'certificate-authority-data': tls.ca?.toString('base64'),
      'proxy-url': cluster.proxyUrl,
    }),
    user: filled({
      name: user.name,
      'client-certificate-data': tls.cert?.toString('base64'),
      'client-key-data': tls.key?.toString('base64'),
      token: user.token,
      username: user.username,
      password: user.password,
      as: as.user,
      'as-uid': as.uid,
      'as-groups': as.groups.length === 0 ? undefined : as.groups,
      'as-user-extra': Object.keys(as.extra).length === 0 ? undefined : as.extra,
      exec: exec && {
        apiVersion: exec.apiVersion,
        // kubectl shows it as it is written, and resolves it when it runs it.
        command: exec.command.replace(`${folder}/sub/`, './'),
        args: exec.args,
        env: exec.env,
        provideClusterInfo: exec.providesClusterInfo,
        // What v1beta1 has where nothing is said.
        interactiveMode: exec.interactiveMode || 'IfAvailable',
      },
    }),
  }
}

function filled(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) => value !== undefined && value !== '' && value !== false,
    ),
  )
}

t.test('a context is the one that kubectl finds', { skip }, async t => {
  for (const one of cases) {
    const name = JSON.stringify(one).replaceAll(folder, '')
    t.strictSame(await byUs(one), await byKubectl(one), name)
  }
})

t.test('a plugin is told what kubectl tells it', { skip }, async t => {
  const script = join(folder, 'told')
  writeFileSync(
    script,
    `#!/bin/sh
printf '%s' "$KUBERNETES_EXEC_INFO" > "$TOLD"
printf '%s' '{"kind":"ExecCredential","apiVersion":"'"$VERSION"'","status":{"token":"x"}}'
`,
    { mode: 0o755 },
  )
  for (const version of ['v1', 'v1beta1']) {
    for (const isTold of [true, false]) {
      const told = join(folder, 'told.json')
      const apiVersion = `client.authentication.k8s.io/${version}`
      const file = join(folder, 'plugin.json')
      const exec = {
        apiVersion,
        command: './told',
        interactiveMode: version === 'v1' ? 'IfAvailable' : undefined,
        provideClusterInfo: isTold,
        env: [
          { name: 'TOLD', value: told },
          { name: 'VERSION', value: apiVersion },
        ],
      }
      const cluster = {
        server: 'https://127.0.0.1:1/path?query',
        'certificate-authority': 'sub/ca.pem',
        'tls-server-name': 'name',
        'disable-compression': true,
        'proxy-url': 'http://127.0.0.1:1',
        extensions: [
          { name: 'other', extension: { c: 1 } },
          { name: 'client.authentication.k8s.io/exec', extension: { b: [1, 'x'], a: null } },
        ],
      }
      writeFileSync(
        file,
        JSON.stringify({
          'current-context': 'x',
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
          clusters: [{ name: 'c', cluster }],
          users: [{ name: 'u', user: { exec } }],
        }),
      )
      await promisify(execFile)(binary, ['--kubeconfig', file, 'get', '--raw', '/']).catch(() => {})
      const byOther: unknown = JSON.parse(textOf(readFileSync(told, 'utf8')))
      writeFileSync(told, '')
      const access = await KubeconfigAccess.open({
        kubeconfig: file,
        // kubectl has no terminal here, either.
        system: { ...nodeSystem(), isTerminal: false },
        clock: systemClock,
        logger: silentLogger,
      })
      const { headers } = await access.credentials()
      access.stop()
      t.strictSame(headers, { authorization: 'Bearer x' })
      t.strictSame(JSON.parse(readFileSync(told, 'utf8')), byOther, `${version} ${isTold}`)
    }
  }
})
