/** The target of attacks: the program itself in front of an upstream that checks tokens, both with
 *  one etcd. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { createTestEngine } from '../etcd/test-engine.ts'
import { programFlags } from '../program/program-flags.ts'
import { createGuard, type GuardOptions } from '../upstream/guard.ts'
import { configMap } from '../upstream/proxied.ts'
import { identity } from '../upstream/reviews.ts'
import type { Binding } from '../upstream/rules.ts'
import { TestUpstream, upstreamReady } from '../upstream/upstream.ts'
import { ask, type Answer, type Address } from './ask.ts'
import { nodeFor } from '../runner/other-node.ts'

export interface DoorOptions {
  readonly protocol?: 'http' | 'https' | undefined
  /** Beside those that connect it. */
  readonly args?: readonly string[] | undefined
  /** Bearers of tokens, beside `admin` and `own`. */
  readonly users?: readonly (readonly [token: string, identity: Identity])[] | undefined
  readonly bindings?: readonly Binding[] | undefined
  readonly certificates?: GuardOptions['certificates']
  /** Bodies of POST by path, there from the beginning. */
  readonly objects?: readonly (readonly [path: string, object: unknown])[] | undefined
  /** The upstream speaks TLS, and looks at certificates. */
  readonly isUpstreamSecure?: boolean | undefined
  /** Whether the upstream asks who somebody is. */
  readonly isGuarded?: boolean | undefined
  /** The test itself looks at how it ends. */
  readonly mayFail?: boolean | undefined
  /** It mirrors all resources. Otherwise those that most attacks ask for: of the others, it would
   *  ask the upstream again and again. */
  readonly mirrorsAll?: boolean | undefined
  /** Who reads at first, to see that reads come from the mirror; the administrator by default;
   *  none: nobody waits for it. */
  readonly probe?: Probe | 'none' | undefined
}

interface Probe {
  readonly headers: Readonly<Record<string, string>>
  readonly certificate: string | undefined
}

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly [field: string]: unknown
}

export interface Door {
  readonly protocol: 'http' | 'https'
  readonly port: number
  readonly adminPort: number
  readonly upstream: TestUpstream
  readonly etcd: EngineClient
  /** Lines that the program has logged. */
  readonly log: readonly LogLine[]
  readonly pid: number
  readonly hasEnded: () => boolean
  /** Has the program meet a mistake that nobody catches. */
  err(how: 'throw' | 'reject'): void
  signal(name: NodeJS.Signals): void
  /** Bytes in use after a full collection. */
  memory(): Promise<number>
  /** The value of a metric; the sum, if it has labels. */
  metric(name: string): Promise<number>
  /** Its exit code, when it has ended. */
  exited(): Promise<number>
  /** Asks the program to stop; its exit code. */
  stop(): Promise<number>
}

export const admin = { authorization: 'Bearer admin' }
export const maps = '/api/v1/namespaces/default/configmaps'

/** Starts all of it. It ends with the test, which fails if the program has ended by itself or met a
 *  mistake of ours. */
export async function startDoor(t: Test, options: DoorOptions = {}): Promise<Door> {
  const { protocol = 'http', args = [], isUpstreamSecure = false, isGuarded = true } = options
  const { engine, client } = createTestEngine(t)
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => etcd.close())
  const upstream = await TestUpstream.start({ client, tls: isUpstreamSecure })
  t.teardown(() => upstream.stop())
  await upstreamReady(upstream)
  await upstream.create(maps, configMap('a', '1'))
  for (const [path, object] of options.objects ?? []) await upstream.create(path, object)
  const users = new Map([
    ['admin', identity('admin', 'system:masters')],
    ['own', identity('watchglass', 'system:masters')],
    ...(options.users ?? []),
  ])
  if (isGuarded) {
    upstream.before = createGuard({
      users,
      bindings: () => options.bindings ?? [],
      certificates: options.certificates,
    })
  }
  const tokenFile = join(await mkdtemp(join(tmpdir(), 'watchglass-door-')), 'token')
  await writeFile(tokenFile, 'own')
  const all = [
    `--listen=${protocol}://127.0.0.1:0`,
    ...(protocol === 'https' ? tlsArgs : []),
    `--etcd=http://${etcd.address}`,
    `--upstream=${upstream.url}`,
    `--upstream-token-file=${tokenFile}`,
    ...(args.some(arg => arg.startsWith('--admin-listen')) ? [] : adminArgs),
    ...(options.mirrorsAll === true ? [] : ['--cache-only=configmaps,pods,secrets,namespaces']),
    ...(isUpstreamSecure ? ['--upstream-ca=test/support/certs/ca.pem'] : []),
    ...args,
  ]
  const program = await startChild(t, all)
  const door: Door = { ...program, protocol, upstream, etcd: client }
  if (options.mayFail !== true) t.teardown(() => endsInOrder(door))
  const { probe = { headers: admin, certificate: undefined } } = options
  if (probe !== 'none') await answersFromMirror(door, probe)
  return door
}

const adminArgs = ['--admin-listen=http://127.0.0.1:0']
const tlsArgs = [
  '--tls-cert=test/support/certs/server.pem',
  '--tls-key=test/support/certs/server.key',
]

type Program = Omit<Door, 'protocol' | 'upstream' | 'etcd'>

/** Starts `watchglass serve` with these arguments. */
async function startChild(t: Test, args: readonly string[]): Promise<Program> {
  const preload = new URL('./report-heap.js', import.meta.url).href
  const node = nodeFor(args)
  const child = spawn(node, [...programFlags(node), '--import', preload, '.', 'serve', ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const log: LogLine[] = []
  const exited = once(child, 'exit') as Promise<[number | null]>
  let hasEnded = false
  void exited.then(() => (hasEnded = true))
  const stop = async (): Promise<number> => {
    child.kill()
    const [code] = await exited
    return code ?? -1
  }
  t.teardown(() => void child.kill('SIGKILL'))
  const { port, adminPort } = await portsOf(child, log)
  const metricsOf = async (): Promise<string> =>
    (await ask({ protocol: 'http', port: adminPort }, '1.1', { path: '/metrics' })).body
  return {
    port,
    adminPort,
    log,
    pid: child.pid ?? 0,
    hasEnded: () => hasEnded,
    stop,
    err: how => void child.send(how),
    signal: name => void child.kill(name),
    exited: async () => (await exited)[0] ?? -1,
    async memory() {
      const answer = once(child, 'message') as Promise<[number]>
      child.send('memory')
      return (await answer)[0]
    },
    async metric(name) {
      const lines = (await metricsOf()).split('\n')
      const values = lines
        .filter(line => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
        .map(line => Number(line.slice(line.lastIndexOf(' ') + 1)))
      if (values.length === 0) throw new Error(`there is no metric ${name}`)
      return values.reduce((sum, value) => sum + value, 0)
    },
  }
}

function portsOf(
  { stderr, ...child }: ChildProcess,
  log: LogLine[],
): Promise<{ port: number; adminPort: number }> {
  void child
  let port = 0
  let adminPort = 0
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stderr! })
    const others: string[] = []
    lines.on('line', text => {
      if (!text.startsWith('{')) {
        others.push(text)
        log.push({ level: 'error', message: text })
        return
      }
      const line = JSON.parse(text) as LogLine
      log.push(line)
      if (line.message === 'listening') port = Number(/:(\d+)$/.exec(String(line['address']))?.[1])
      if (typeof line['port'] === 'number') adminPort = line['port']
      if (port !== 0 && adminPort !== 0) resolve({ port, adminPort })
    })
    lines.on('close', () => reject(new Error(`the program has ended: ${others.join('\n')}`)))
  })
}

/** Resolves when reads come from the mirror. */
async function answersFromMirror(door: Door, { headers: who, certificate }: Probe): Promise<void> {
  for (let i = 0; i < 600; i++) {
    const { status, headers } = await ask({ ...door, certificate }, '1.1', {
      path: maps,
      headers: who,
    })
    if (status === 200 && String(headers['x-watchglass']).startsWith('mirror')) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error('the program does not answer from the mirror')
}

/** An error that is logged while the etcd of the test does not answer. It runs in the process of
 *  the attack, which on a busy machine leaves it no time for seconds. */
const silentEtcd =
  'etcd gives no answer: reads that must be new are refused, or pass to the upstream'

/** The mistakes of ours that the program has logged. */
export function mistakesOf({ log }: Door): readonly LogLine[] {
  return log.filter(({ level, message }) => level === 'error' && message !== silentEtcd)
}

/** The program is still there, ends when it is asked to, and has met no mistake of ours. */
async function endsInOrder(door: Door): Promise<void> {
  const hasEnded = door.hasEnded()
  const code = await door.stop()
  const mistakes = mistakesOf(door)
  if (!hasEnded && code === 0 && mistakes.length === 0) return
  const how = hasEnded ? 'has ended by itself' : `ends with code ${code}`
  throw new Error(`the program ${how}; it has logged ${JSON.stringify(mistakes)}`)
}

export type { Answer, Address }
