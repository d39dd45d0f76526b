/** `watchglass run`: a command gets a cluster, and nothing is left when it has ended. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
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

function start(t: Test, args: readonly string[], input: 'ignore' | 'pipe' = 'ignore'): Running {
  const folder = mkdtempSync(join(tmpdir(), 'watchglass-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const node = nodeFor(args)
  const child = spawn(node, [...programFlags(node), '.', 'run', ...args], {
    stdio: [input, 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  let [out, err] = ['', '']
  const looks = new Set<() => void>()
  child.stdout?.on('data', (piece: Buffer) => {
    out += piece.toString()
    for (const look of looks) look()
  })
  child.stderr?.on('data', (piece: Buffer) => (err += piece.toString()))
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

t.test('mistakes are told in a sentence before anything starts', async t => {
  const cases: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [[], 2, /say what to run/],
    [['--stdio', '--', 'true'], 2, /--stdio takes the place of a command/],
    [['--fault', 'no-such', '--', 'true'], 2, /"no-such" is no fault/],
    [['--churn', '1/s', '--', 'true'], 2, /--churn changes generated objects: add --generate/],
    [['--kubernetes-version', '1.2', '--', 'true'], 1, /there is no data of Kubernetes/],
  ]
  for (const [args, code, said] of cases) {
    const ended = await run(t, args)
    t.match(ended.err, said, args.join(' '))
    t.equal(ended.code, code, args.join(' '))
    t.strictSame(ended.left, [])
  }
  t.match(await run(t, ['--help']), { code: 0, out: /Usage: watchglass run / })
})

t.test('each signal is passed on, and the command decides how it ends', async t => {
  const traps = "trap 'echo INT' INT; trap 'echo HUP' HUP; trap 'echo TERM; exit 9' TERM"
  const script = `${traps}; echo begun; while :; do sleep 0.1; done`
  const { child, said, ended } = start(t, ['--', 'sh', '-c', script])
  await said('begun')
  for (const name of ['INT', 'HUP', 'TERM'] as const) {
    child.kill(`SIG${name}`)
    await said(name)
  }
  const { code, out, left } = await ended
  t.equal(out, 'begun\nINT\nHUP\nTERM\n')
  t.equal(code, 9)
  t.strictSame(left, [])
})

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

t.test('--keep keeps the folder and says where it is, whatever becomes of the command', async t => {
  const { code, err, left } = await run(t, ['--keep', 'no-such-command', '--help'])
  t.match(err, /the command "no-such-command" is not found/)
  t.equal(code, 127)
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

t.test('a command finds a whole cluster by KUBECONFIG', async t => {
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
    const made = await ask('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'a' }, data: { k: 'v' },
    })
    const account = await ask('GET', '/api/v1/namespaces/default/serviceaccounts/default')
    const authority = await ask('GET', '/api/v1/namespaces/default/configmaps/kube-root-ca.crt')
    const mounted = process.env.WATCHGLASS_SERVICE_ACCOUNT
    const isSame = authority.data['ca.crt'] === readFileSync(mounted + '/ca.crt', 'utf8')
    const address = process.env.KUBERNETES_SERVICE_HOST + ':' + process.env.KUBERNETES_SERVICE_PORT
    const isThere = server === 'https://' + address
    const widget = await ask('GET', '/apis/example.com/v1/namespaces/shop/widgets/a')
    const map = await ask('GET', '/api/v1/namespaces/default/configmaps/b')

    const token = /name: visitor\\n {2}user: {token: ([^}]+)}/.exec(config)[1]
    const visit = async path => {
      const headers = { authorization: 'Bearer ' + token }
      return (await fetch(server + path, { headers })).status
    }
    const group = 'rbac.authorization.k8s.io'
    const pods = '/api/v1/namespaces/default/pods'
    const visitor = [await visit(pods), (await fetch(server + pods)).status]
    const { code } = await ask('POST', '/apis/' + group + '/v1/namespaces/default/rolebindings', {
      metadata: { name: 'v' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'lister' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'visitor' }],
    })
    const role = await ask('POST', '/apis/' + group + '/v1/clusterroles', {
      metadata: { name: 'lister' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    })
    visitor.push(code, role.code)
    while (await visit(pods) !== 200);
    visitor.push(await visit('/api/v1/namespaces/kube-system/pods'))
    console.log(JSON.stringify({
      usual: [made.code, account.code, isSame, isThere],
      applied: [widget.size, map.data],
      visitor,
    }))
    process.exit(42)`
  const { code, out, err, left } = await run(t, [
    '--crds',
    join(folder, 'crds'),
    '--apply',
    join(folder, 'objects'),
    ...clientCommand(source),
  ])
  t.equal(err, '')
  const found = JSON.parse(out) as Record<'usual' | 'applied' | 'visitor', unknown>
  t.strictSame(found.usual, [201, 200, true, true])
  t.strictSame(found.applied, [1, { k: 'v' }], 'definitions and objects are there before it begins')
  t.strictSame(found.visitor, [403, 403, 201, 201, 403], 'may do nothing, until a role says so')
  t.equal(code, 42, 'its exit code is ours')
  t.strictSame(left, [])
})

t.test('what the server refuses is told with its file, and the command does not begin', async t => {
  const folder = t.testdir({
    objects: { 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n' },
    crds: { 'a.json': JSON.stringify(definition('Elsewhere')) },
  })
  const cases: readonly (readonly [option: string, folder: string, said: RegExp])[] = [
    ['--apply', 'objects', /a\.yaml: ConfigMap A: .*is invalid/],
    ['--crds', 'crds', /a\.json: CustomResourceDefinition widgets\.example\.com: .*spec\.scope/],
  ]
  for (const [option, name, said] of cases) {
    const ended = await run(t, [option, join(folder, name), '--', 'echo', 'begun'])
    t.match(ended.err, said)
    t.strictSame([ended.code, ended.out, ended.left], [2, '', []])
  }
})

t.test('a command has generated objects, and switches faults while it runs', async t => {
  const objects = t.testdir({
    'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n',
  })
  const source = `
    const admin = process.env.WATCHGLASS_ADMIN + '/faults'
    const replace = rules => fetch(admin, { method: 'PUT', body: rules })
    const pods = async () => (await ask('GET', '/api/v1/pods')).code
    const codes = [await pods()]
    const { faults } = await (await fetch(admin)).json()
    await replace('')
    const { items } = await ask('GET', '/api/v1/pods')
    await replace('error,code=503,verb=list')
    codes.push(await pods())
    await replace('')
    const map = await ask('GET', '/api/v1/namespaces/default/configmaps/applied')
    console.log(JSON.stringify({ codes, faults, pods: items.length, map: map.metadata.name }))`
  const { code, out, err } = await run(t, [
    '--generate',
    'pods=10',
    '--fault',
    'error,code=429',
    '--apply',
    objects,
    ...clientCommand(source),
  ])
  t.equal(err, '')
  const found: unknown = JSON.parse(out)
  t.match(found, { codes: [429, 503], map: 'applied' }, 'objects are applied before faults begin')
  t.match(found, { faults: [{ rule: 'error,code=429', met: 1 }] })
  t.match(found, { pods: Number })
  t.equal(code, 0)
})

t.test('a recording is loaded', async t => {
  const file = join(
    t.testdir({ 'a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: loaded}\n' }),
    'a.yaml',
  )
  const source = `console.log((await ask('GET', '/api/v1/namespaces/loaded')).metadata.name)`
  t.match(await run(t, ['--load', file, ...clientCommand(source)]), { code: 0, out: 'loaded\n' })
})

t.test('--stdio: lines in place of a command, until standard input ends', async t => {
  const folder = t.testdir({
    'crd.json': JSON.stringify(definition('Namespaced')),
    notes: { 'a.txt': 'not an object' },
  })
  const { child, said, ended } = start(t, ['--stdio'], 'pipe')
  const requests: readonly (readonly [request: string, answer: string])[] = [
    [
      JSON.stringify({
        apply: [
          join(folder, 'crd.json'),
          { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } },
        ],
      }),
      '{}',
    ],
    [JSON.stringify({ apply: [join(folder, 'notes')] }), 'has no file of YAML or JSON'],
    [JSON.stringify({ apply: [1] }), 'object 1 holds something that is not an object'],
    ['{"apply":', 'a line of --stdio is'],
    ['{}', 'a line of --stdio is'],
  ]
  await said('WATCHGLASS_ADMIN')
  for (const [request, answer] of requests) {
    child.stdin?.write(`${request}\n`)
    await said(answer)
  }
  child.stdin?.end()
  const { code, out, err, left } = await ended
  const [first = '', ...answers] = out.trim().split('\n')
  t.strictSame(Object.keys(JSON.parse(first) as object), [
    'KUBECONFIG',
    'KUBERNETES_SERVICE_HOST',
    'KUBERNETES_SERVICE_PORT',
    'KUBERNETES_SERVICE_PORT_HTTPS',
    'WATCHGLASS_ADMIN',
    'WATCHGLASS_SERVICE_ACCOUNT',
  ])
  t.equal(answers.length, requests.length, 'one line each')
  t.strictSame([code, err, left], [0, '', []])
})

t.test('--stdio: a signal ends the cluster, too', async t => {
  const { child, said, ended } = start(t, ['--stdio'], 'pipe')
  await said('WATCHGLASS_ADMIN')
  child.kill('SIGTERM')
  t.match(await ended, { code: 143, left: [] })
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
