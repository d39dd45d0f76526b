/** `watchglass run`: a command gets a cluster, and nothing is left when it has ended. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { programFlags } from '../support/program/program-flags.ts'
import { lacksThreads, nodeFor } from '../support/runner/other-node.ts'

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** Files that are left in the folder for temporary ones. */
  readonly left: readonly string[]
}

interface Running {
  readonly child: ChildProcess
  readonly left: () => readonly string[]
  /** Resolves when this is printed. */
  readonly said: (text: string) => Promise<void>
  readonly ended: Promise<Ended>
}

function start(t: Test, args: readonly string[]): Running {
  const folder = mkdtempSync(join(tmpdir(), 'watchglass-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const node = nodeFor(args)
  const child = spawn(node, [...programFlags(node), '.', 'run', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  let [out, err] = ['', '']
  const looks = new Set<() => void>()
  child.stdout.on('data', (piece: Buffer) => {
    out += piece.toString()
    for (const look of looks) look()
  })
  child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
  return {
    child,
    left: () => readdirSync(folder),
    said: text =>
      new Promise(resolve => {
        const look = (): void => {
          if (out.includes(text)) resolve()
        }
        looks.add(look)
        look()
      }),
    ended: once(child, 'close').then(([code]) => {
      return { code: code as number | null, out, err, left: readdirSync(folder) }
    }),
  }
}

function run(t: Test, args: readonly string[]): Promise<Ended> {
  return start(t, args).ended
}

/** A program that asks the cluster as a client would that knows KUBECONFIG only. */
const client = `
  const { readFileSync } = await import('node:fs')
  const config = readFileSync(process.env.KUBECONFIG, 'utf8')
  const server = /server: (\\S+)/.exec(config)[1]
  const authorization = 'Bearer ' + /token: ([^}\\s]+)/.exec(config)[1]
  const ask = async (method, path, body) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(server + path, { method, headers, body: JSON.stringify(body) })
    return { code: answer.status, ...(await answer.json()) }
  }
`

/** Runs such a program: Node reads further authorities when it starts. */
function clientCommand(source: string): string[] {
  const script = `NODE_EXTRA_CA_CERTS="$WATCHGLASS_SERVICE_ACCOUNT/ca.crt" exec "$0" --input-type=module -e "$1"`
  return ['--', 'sh', '-c', script, process.execPath, `${client}\n${source}`]
}

t.test('a command finds a whole cluster by KUBECONFIG, and its exit code is ours', async t => {
  const source = `
    const made = await ask('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'a' }, data: { k: 'v' },
    })
    const account = await ask('GET', '/api/v1/namespaces/default/serviceaccounts/default')
    const authority = await ask('GET', '/api/v1/namespaces/default/configmaps/kube-root-ca.crt')
    const folder = process.env.WATCHGLASS_SERVICE_ACCOUNT
    const isSame = authority.data['ca.crt'] === readFileSync(folder + '/ca.crt', 'utf8')
    const address = process.env.KUBERNETES_SERVICE_HOST + ':' + process.env.KUBERNETES_SERVICE_PORT
    const isThere = server === 'https://' + address
    console.log(JSON.stringify([made.code, account.code, isSame, isThere]))
    process.exit(42)`
  const { code, out, err, left } = await run(t, clientCommand(source))
  t.equal(out.trim(), '[201,200,true,true]')
  t.equal(err, '')
  t.equal(code, 42)
  t.strictSame(left, [])
})

t.test('a second user may do nothing, until a role says so', async t => {
  const source = `
    const token = /name: visitor\\n {2}user: {token: ([^}]+)}/.exec(config)[1]
    const visit = async path => {
      const headers = { authorization: 'Bearer ' + token }
      return (await fetch(server + path, { headers })).status
    }
    const group = 'rbac.authorization.k8s.io'
    const pods = '/api/v1/namespaces/default/pods'
    const codes = [await visit(pods), (await fetch(server + pods)).status]
    const { code } = await ask('POST', '/apis/' + group + '/v1/namespaces/default/rolebindings', {
      metadata: { name: 'v' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'lister' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'visitor' }],
    })
    const role = await ask('POST', '/apis/' + group + '/v1/clusterroles', {
      metadata: { name: 'lister' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    })
    codes.push(code, role.code)
    while (await visit(pods) !== 200);
    codes.push(await visit('/api/v1/namespaces/kube-system/pods'))
    console.log(codes.join())`
  const { code, out, err } = await run(t, clientCommand(source))
  t.equal(err, '')
  t.equal(out.trim(), '403,403,201,201,403')
  t.equal(code, 0)
})

t.test('exit codes are those of shells, and mistakes are told in a sentence', async t => {
  const folder = t.testdir({ file: 'text' })
  const cases: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [['--', 'no-such-command'], 127, /the command "no-such-command" is not found/],
    [['--', join(folder, 'file')], 126, /may not be executed/],
    [['--', 'sh', '-c', 'kill -KILL $$'], 137, /^$/],
    [['sh', '-c', 'exit 5'], 5, /^$/],
    [[], 2, /say what to run/],
    [['--crds', join(folder, 'none'), '--', 'true'], 2, /--crds cannot be read/],
    [['--apply', folder, '--', 'true'], 2, /has no file of YAML or JSON/],
    [['--kubernetes-version', '1.2', '--', 'true'], 1, /there is no data of Kubernetes/],
  ]
  for (const [args, code, said] of cases) {
    const ended = await run(t, args)
    t.match(ended.err, said, args.join(' '))
    t.equal(ended.code, code, args.join(' '))
    t.strictSame(ended.left, [])
  }
  t.match(await run(t, ['sh', '-c', 'echo $0', '--help']), { code: 0, out: '--help\n' })
  t.match(await run(t, ['--help']), { code: 0, out: /Usage: watchglass run / })
})

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  t.test(`${name} is passed on, and the command decides how it ends`, async t => {
    const short = name.slice(3)
    const script = `trap 'echo got; exit 9' ${short}; echo begun; while :; do sleep 0.1; done`
    const { child, said, ended } = start(t, ['--', 'sh', '-c', script])
    await said('begun')
    child.kill(name)
    const { code, out, left } = await ended
    t.match(out, /got/)
    t.equal(code, 9)
    t.strictSame(left, [])
  })
}

t.test('a signal before the command begins ends the start', async t => {
  const running = start(t, ['--', 'echo', 'begun'])
  while (running.left().length === 0) {
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  running.child.kill('SIGTERM')
  const { code, out, left } = await running.ended
  t.equal(out, '')
  t.equal(code, 143)
  t.strictSame(left, [])
})

t.test('starts after one another leave nothing', async t => {
  for (let i = 0; i < 2; i++) {
    t.match(await run(t, ['--', 'true']), { code: 0, out: '', err: '', left: [] })
  }
})

t.test('--keep keeps the folder, and says where it is', async t => {
  const { code, err, left } = await run(t, ['--keep', '--', 'true'])
  t.equal(code, 0)
  const [, folder = ''] = /kept (\S+)/.exec(err) ?? []
  t.ok(existsSync(join(folder, 'kubeconfig')))
  t.equal(left.length, 1)
})

const definition = (scope: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    scope,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
})

t.test('definitions and objects are there before the command begins', async t => {
  const folder = t.testdir({
    crds: { 'widgets.json': JSON.stringify(definition('Namespaced')) },
    objects: {
      '1-namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
      '2-widgets.yml':
        'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nsize: 1\n' +
        '---\n---\napiVersion: v1\nkind: List\nitems:\n' +
        '- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: v}}\n',
      'notes.txt': 'not an object',
    },
  })
  const source = `
    const widget = await ask('GET', '/apis/example.com/v1/namespaces/shop/widgets/a')
    const map = await ask('GET', '/api/v1/namespaces/default/configmaps/b')
    console.log(JSON.stringify([widget.size, map.data]))`
  const { code, out, err, left } = await run(t, [
    '--crds',
    join(folder, 'crds'),
    '--apply',
    join(folder, 'objects'),
    ...clientCommand(source),
  ])
  t.equal(err, '')
  t.equal(out.trim(), '[1,{"k":"v"}]')
  t.equal(code, 0)
  t.strictSame(left, [])
})

t.test('what the server refuses is told with its file, and the command does not begin', async t => {
  const folder = t.testdir({
    objects: {},
    crds: { 'a.json': JSON.stringify(definition('Elsewhere')) },
  })
  const file = join(folder, 'objects', 'a.yaml')
  const cases: readonly (readonly [text: string, said: RegExp])[] = [
    [
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n',
      /a\.yaml: ConfigMap A: .*is invalid/,
    ],
    ['apiVersion: a.b/v1\nkind: C\nmetadata: {name: a}\n', /C of a\.b\/v1 is not served/],
    ['apiVersion: v1\nkind: ConfigMap\n', /a ConfigMap without a name/],
    ['apiVersion: [', /a\.yaml cannot be read: /],
  ]
  for (const [text, said] of cases) {
    writeFileSync(file, text)
    const ended = await run(t, ['--apply', join(folder, 'objects'), '--', 'echo', 'begun'])
    t.match(ended.err, said)
    t.strictSame([ended.code, ended.out, ended.left], [2, '', []])
  }
  const ended = await run(t, ['--crds', join(folder, 'crds'), '--', 'echo', 'begun'])
  t.match(ended.err, /a\.json: CustomResourceDefinition widgets\.example\.com: .*spec\.scope/)
})

t.test('with threads and made-up nodes', { skip: lacksThreads() }, async t => {
  const source = `
    const { items } = await ask('GET', '/api/v1/nodes')
    const service = await ask('GET', '/api/v1/namespaces/default/services/kubernetes')
    const port = Number(process.env.KUBERNETES_SERVICE_PORT)
    console.log(JSON.stringify([items.length > 0, service.spec.ports[0].targetPort === port]))`
  const args = ['--threads', '2', '--simulate', 'nodes', ...clientCommand(source)]
  const { code, out, left } = await run(t, args)
  t.equal(out.trim(), '[true,true]')
  t.equal(code, 0)
  t.strictSame(left, [])
})
