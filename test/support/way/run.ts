/** `npm run way -- get|list|table|watch|apply|pass [--functions]`: how long the way of a request
 *  through the program is. Starts the built program, sends the same kind of request several times,
 *  and counts the files of lib/ and the functions in them that run for each (V8's own count).
 *  `npm run way -- lines`: how large the program is.
 *
 *  What only some of the requests enter is left out: timers that ran beside them, or what is made
 *  once. Code and schemas are warm. A get and a list show what was shown before, so their objects
 *  are at hand as bytes; each Table has rows that no request has seen; each apply makes a
 *  Deployment. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../program/ports.ts'
import { ToolOptions } from '../runner/tool-options.ts'
import type { Ran } from './count.ts'
import { linesTable } from './lines.ts'

interface Request {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Never ends: one piece of the answer is enough. */
  readonly isOpen?: boolean
}

const json = { accept: 'application/json' }
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const protobuf = { accept: 'application/vnd.kubernetes.protobuf' }
const apply = { 'content-type': 'application/apply-patch+yaml', ...json }

/** The `n`th request of each kind. The names of pods are those that are there. */
const requests: Readonly<Record<string, (n: number, pods: readonly string[]) => Request>> = {
  get: (_n, pods) => ({ path: pods[0] ?? '', headers: json }),
  list: n => ({ path: `/api/v1/pods?limit=${50 + n}`, headers: protobuf }),
  table: n => ({ path: `/api/v1/pods?limit=${24 * (n + 1)}`, headers: table }),
  watch: () => ({ path: '/api/v1/pods?watch=1', headers: json, isOpen: true }),
  apply: n => ({
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/default/deployments/way-${n}?fieldManager=way`,
    headers: apply,
    body: JSON.stringify(deployment(`way-${n}`)),
  }),
  pass: (n, pods) => ({ path: `${pods[n]}/log`, headers: json }),
}

function deployment(name: string): object {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'main', image: 'nginx:1.29', ports: [{ containerPort: 80 }] }],
        },
      },
    },
  }
}

const tool = new ToolOptions(`npm run way -- get|list|table|watch|apply|pass|lines [OPTION...]
  --functions  names each function that runs`)
const { values, positionals } = tool.read({
  allowPositionals: true,
  options: { functions: { type: 'boolean' } },
})
const [kind = ''] = positionals
if (kind === 'lines') {
  process.stdout.write(linesTable())
  process.exit(0)
}
const requestOf = requests[kind] ?? tool.refuse('name what is asked for')

/** Requests before the program is warm, and those that are counted. */
const warming = 30
const counted = 8
/** Functions that run in a tenth of a second although nothing is asked for: timers. */
const quietMax = 20

/** Rooms of the frames of HTTP/2: what Node's own server does out of sight. */
const framing = /\/http2\//

const program = await start(kind)
const client = http2.connect(`http://127.0.0.1:${program.port}`)
const pods = await podPaths()
for (let n = 0; n < warming; n++) await send(requestOf(n, pods))
await quiet()
let ways: Set<string> | undefined
for (let n = warming; n < warming + counted; n++) {
  await pause(50)
  await program.ran()
  await send(requestOf(n, pods))
  await pause(20)
  const ran = new Set(await program.ran())
  ways = ways === undefined ? ran : new Set([...ways].filter(one => ran.has(one)))
}
show([...(ways ?? [])].toSorted())
client.destroy()
await program.stop()

/** Waits until nothing goes on beside requests: at first a proxy compares objects with its
 *  upstream. */
async function quiet(): Promise<void> {
  for (let looks = 0; looks < 300; looks++) {
    await program.ran()
    await pause(100)
    if ((await program.ran()).length < quietMax) return
  }
}

function show(ran: Ran): void {
  if (values.functions === true) process.stdout.write(`${ran.join('\n')}\n\n`)
  const rooms = new Map<string, number>()
  for (const file of filesOf(ran)) {
    const room = file.split('/').slice(1, -1).join('/')
    rooms.set(room, (rooms.get(room) ?? 0) + 1)
  }
  for (const [room, count] of rooms) process.stdout.write(`${room.padEnd(24)} ${count}\n`)
  const above = ran.filter(line => !framing.test(line))
  process.stdout.write(
    `${kind}: ${filesOf(ran).size} files, ${ran.length} functions; ` +
      `above the frames of HTTP/2: ${filesOf(above).size} files, ${above.length} functions\n`,
  )
}

function filesOf(ran: Ran): Set<string> {
  return new Set(ran.map(line => line.split(' ')[0] ?? ''))
}

async function podPaths(): Promise<string[]> {
  const list = JSON.parse(await send({ path: '/api/v1/pods?limit=200', headers: json })) as {
    items: { metadata: { namespace: string; name: string } }[]
  }
  return list.items.map(
    ({ metadata: { namespace, name } }) => `/api/v1/namespaces/${namespace}/pods/${name}`,
  )
}

async function send({ method = 'GET', path, headers, body, isOpen }: Request): Promise<string> {
  const stream = client.request({ ':method': method, ':path': path, ...headers })
  stream.end(body)
  let text = ''
  for await (const piece of stream.setEncoding('utf8')) {
    text += String(piece)
    if (isOpen === true) break
  }
  return text
}

interface Program {
  readonly port: number
  ran(): Promise<Ran>
  stop(): Promise<void>
}

/** The program on the embedded store, or for `pass` one in front of it. */
async function start(kind: string): Promise<Program> {
  const generated = ['--generate=pods=1000', '--seed=1']
  if (kind !== 'pass') return startOne([...generated, ...(kind === 'apply' ? [] : ['--read-only'])])
  const etcd = await freePort()
  const upstream = await startOne([...generated, `--etcd-listen=127.0.0.1:${etcd}`])
  const front = await startOne([
    `--etcd=http://127.0.0.1:${etcd}`,
    `--upstream=http://127.0.0.1:${upstream.port}`,
    '--auth=none',
    '--admin-listen=http://127.0.0.1:0',
  ])
  return {
    ...front,
    async stop() {
      await front.stop()
      await upstream.stop()
    },
  }
}

async function startOne(args: readonly string[]): Promise<Program> {
  const cli = fileURLToPath(new URL('../../../lib/cli/cli.js', import.meta.url))
  const count = `--import=${new URL('count.js', import.meta.url).href}`
  const child = spawn(
    process.execPath,
    [count, cli, 'serve', '--listen=http://127.0.0.1:0', '--log-level=error', ...args],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  )
  return {
    port: await portOf(child),
    async ran() {
      child.send('ran')
      const [ran] = (await once(child, 'message')) as [Ran]
      return ran
    },
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  let said = ''
  for await (const chunk of child.stdout as unknown as AsyncIterable<Buffer>) {
    said += chunk.toString()
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error('the program has ended without a word')
}
