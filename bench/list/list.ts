/** Lists and gets over real sockets with TLS, against the ceiling of the same runtime that writes as many bytes. The program, the
 *  ceiling and whoever asks are processes of their own; ours and the ceiling take turns. */

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Bench, type BenchOptions, type BenchResult, type Floor, median } from '../bench.ts'
import type { LoadOrder, LoadReport } from './load.ts'

export const listBench: Bench = {
  name: 'list',
  summary: 'lists and gets over TLS, against a bare server that writes as many bytes',
  run: measureLists,
}

interface Scenario {
  readonly name: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly inFlight: number
  /** Bytes of a piece of the ceiling: about what a leaf of the tree comes to. */
  readonly pieceBytes: number
  /** Of the ceiling: of its bytes a second for large answers, of its requests a second for small ones. */
  readonly floor: number
}

const protobuf = { accept: 'application/vnd.kubernetes.protobuf' }
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const leafBytes = 128 * 1024

function scenarios(pod: Pod): Scenario[] {
  const { namespace, name, node, label } = pod
  const large = { inFlight: 2, pieceBytes: leafBytes }
  const small = { inFlight: 64, pieceBytes: 16 * 1024, floor: 0.4 }
  const all = '/api/v1/pods?resourceVersion=0'
  const page = '/api/v1/pods?limit=500'
  return [
    { name: 'all, JSON', path: all, ...large, floor: 0.8 },
    { name: 'all, protobuf', path: all, headers: protobuf, ...large, floor: 0.8 },
    { name: '500, JSON', path: page, ...large, floor: 0.7 },
    { name: '500, Table', path: page, headers: table, ...large, floor: 0.2 },
    {
      ...small,
      name: 'of one node',
      path: `/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D${node}`,
    },
    {
      ...small,
      name: 'of one label',
      path: `/api/v1/pods?resourceVersion=0&labelSelector=${encodeURIComponent(label)}`,
    },
    { ...small, name: 'get, consistent', path: `/api/v1/namespaces/${namespace}/pods/${name}` },
  ]
}

async function measureLists({ size, progress }: BenchOptions): Promise<BenchResult> {
  const isFull = size === 'full'
  const pods = isFull ? 10_000 : 200
  const ms = isFull ? 2_000 : 50
  const rounds = isFull ? 3 : 1
  const program = await startProgram(pods)
  const [ceiling, load] = ['ceiling', 'load'].map(startChild) as [ChildProcess, ChildProcess]
  try {
    const [ceilingPort] = (await once(ceiling, 'message')) as [number]
    const pod = await somePod(program.port)
    const rows: (string | number)[][] = []
    const floors: Floor[] = []
    const hash = createHash('sha256')
    for (const scenario of scenarios(pod)) {
      for (const version of ['1.1', '2'] as const) {
        progress(`${scenario.name}, HTTP/${version}`)
        const ratios: number[] = []
        let [ours, theirs] = [none, none]
        for (let round = 0; round < rounds; round++) {
          const order = { ...scenario, headers: scenario.headers ?? {}, version, ms }
          ours = await measure(load, { ...order, port: program.port })
          if (ours.failed > 0) throw new Error(`${scenario.name}: ${ours.failed} answers failed`)
          const path = ceilingPath(ours.bodyBytes, scenario.pieceBytes)
          theirs = await measure(load, { ...order, path, headers: {}, port: ceilingPort })
          ratios.push(rateOf(ours) / rateOf(theirs))
        }
        const ratio = median(ratios)
        const name = `${scenario.name}, HTTP/${version}`
        rows.push([name, ours.bodyBytes, ...figures(ours), ...figures(theirs), ratio.toFixed(2)])
        floors.push({
          name,
          value: ratio,
          bound: 'at least',
          limit: scenario.floor,
          unit: 'of the ceiling',
        })
        hash.update(`${name} ${scenario.name.startsWith('500, Table') ? '' : ours.bodyBytes}\n`)
      }
    }
    const columns = ['answer', 'bytes', 'requests/s', 'MB/s', 'ceiling requests/s', 'MB/s', 'ratio']
    return {
      tables: [{ title: `${pods} pods`, columns, rows }],
      floors,
      resultHash: hash.digest('hex').slice(0, 16),
    }
  } finally {
    for (const child of [program.child, ceiling, load]) child.kill()
  }
}

const none: LoadReport = { requests: 0, bytes: 0, seconds: 1, bodyBytes: 0, failed: 0 }

function rateOf({ requests, seconds }: LoadReport): number {
  return requests / seconds
}

function figures({ requests, bytes, seconds }: LoadReport): number[] {
  return [Math.round(requests / seconds), Math.round(bytes / seconds / 1e6)]
}

function ceilingPath(bytes: number, pieceBytes: number): string {
  const pieces = Math.max(1, Math.round(bytes / pieceBytes))
  return `/${pieces}/${Math.round(bytes / pieces)}`
}

async function measure(load: ChildProcess, order: LoadOrder): Promise<LoadReport> {
  load.send(order)
  const [report] = (await once(load, 'message')) as [LoadReport]
  return report
}

function startChild(name: string): ChildProcess {
  return fork(fileURLToPath(new URL(`${name}.js`, import.meta.url)))
}

async function startProgram(pods: number): Promise<{ child: ChildProcess; port: number }> {
  const certs = 'test/support/certs'
  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('../../lib/cli.js', import.meta.url)),
      'serve',
      '--listen=https://127.0.0.1:0',
      `--tls-cert=${certs}/server.pem`,
      `--tls-key=${certs}/server.key`,
      `--generate=pods=${pods}`,
      '--log-level=error',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [introduction] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(introduction.toString())?.[1])
  return { child, port }
}

interface Pod {
  readonly namespace: string
  readonly name: string
  readonly node: string
  readonly label: string
}

/** One that runs, for what small answers ask for. */
async function somePod(port: number): Promise<Pod> {
  const { get } = await import('node:https')
  const text = await new Promise<string>((resolve, reject) => {
    const path = '/api/v1/pods?limit=50'
    get({ host: '127.0.0.1', port, path, rejectUnauthorized: false }, response => {
      let body = ''
      response.on('data', (piece: Buffer) => (body += piece.toString()))
      response.on('end', () => resolve(body))
    }).on('error', reject)
  })
  const { items } = JSON.parse(text) as { items: StoredPod[] }
  const pod = items.find(({ spec }) => spec.nodeName !== undefined)
  const [label] = Object.entries(pod?.metadata.labels ?? {})
  if (pod === undefined || label === undefined) throw new Error('no pod runs')
  const { metadata, spec } = pod
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    node: spec.nodeName ?? '',
    label: label.join('='),
  }
}

interface StoredPod {
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly labels: Record<string, string>
  }
  readonly spec: { readonly nodeName?: string }
}
