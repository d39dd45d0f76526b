/** The programs under test, each a process of its own over one etcd:
 *
 *      writable   takes writes, serves etcd's API too, two workers
 *      proxy      in front of the writable one: access reviews, evidence, comparisons, two workers; collects garbage when V8 wants to
 *      faulty     fails on purpose, and compacts etcd
 *
 *  A leak is what is never free again. But what is free does not go back to the system at once,
 *  and what is kept to be found again goes up and down with the reads: without the settings
 *  below a program with a flat heap grew by 45 MiB from its 10th to its 22nd minute, and then by
 *  nothing. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask } from '../../../support/http/served.ts'
import type { Teardown } from '../../../support/etcd/etcd-cluster.ts'
import { freePort } from '../../../support/program/ports.ts'
import type { Certificates } from './certificates.ts'
import { collectVariable, fileVariable, periodVariable } from './collect.ts'
import { nodeFor } from '../../../support/runner/other-node.ts'

export interface Program {
  readonly name: ProgramName
  readonly port: number
  readonly adminPort: number
  readonly child: ChildProcess
  readonly heapFile: string
  /** Its heap was measured right after collections. */
  readonly isCollected: boolean
  readonly logFile: string
}

export type ProgramName = 'writable' | 'proxy' | 'faulty'

export interface Programs extends Readonly<Record<ProgramName, Program>> {
  /** `host:port` of etcd's API. */
  readonly door: string
}

const faults = [
  'latency,delay=5ms..300ms,share=10%',
  'error,code=429,retry-after=1,share=3%',
  'error,code=503,share=2%',
  'reset,after=64KB,share=3%',
  'slow,rate=200KB/s,share=2%',
  'watch-end,after=50,share=30%',
  'watch-expired,after=200,share=20%',
  'stale,age=20s,share=30%',
  'compact,every=5m',
]

/** The memory budgets. Five minutes of reads would take 60 to 78 MiB of encoded objects, as the
 *  reads come. A budget that is always reached makes it, with the history that fills for ten
 *  minutes, one size. */
const budgets: Readonly<Record<ProgramName, string>> = {
  writable: '32MiB',
  proxy: '64MiB',
  faulty: '48MiB',
}

/** V8 would give each thread a young generation of 2 to 48 MiB, after the garbage of the last
 *  seconds. */
const heapFlags = {
  /** Options with which garbage is collected for each sample. A forced collection ages what is just
   *  in use, which leaves holes between what stays: V8 lets pages with 70 % holes be. It also gives
   *  back a large young generation. */
  forced: ['--compact-on-every-full-gc', '--max-semi-space-size=2'],
  /** Options with which V8 collects by itself. */
  own: ['--min-semi-space-size=16', '--max-semi-space-size=16'],
}

const allocator = {
  // Each thread's pool would keep the most that the thread ever needed, and clients go from one to
  // the other for hours.
  MALLOC_ARENA_MAX: '1',
  // What is larger, such as slabs, has pages of its own, which go back to the system at once. It
  // would leave holes in the pool.
  MALLOC_MMAP_THRESHOLD_: String(64 * 1024),
}

export interface ProgramsOptions {
  readonly endpoints: readonly string[]
  readonly certificates: Certificates
  /** Folder of logs and samples. */
  readonly folder: string
  readonly sampleEveryMs: number
}

/** Starts all three and waits until they are ready. */
export async function startPrograms(scope: Teardown, options: ProgramsOptions): Promise<Programs> {
  const path = (name: string): string => options.certificates.path(name)
  const doorPort = await freePort()
  const door = `127.0.0.1:${doorPort}`
  const start = (name: ProgramName, args: readonly string[]): Promise<Program> =>
    startOne(scope, options, { name, args })
  const writable = await start(
    'writable',
    flags({
      writable: true,
      threads: '2',
      simulate: 'all',
      'etcd-listen': door,
      'etcd-listen-cert': path('listener.pem'),
      'etcd-listen-key': path('listener.key'),
    }),
  )
  const proxy = await start(
    'proxy',
    flags({
      threads: '2',
      compare: '5%',
      upstream: `https://127.0.0.1:${writable.port}`,
      'upstream-ca': path('ca.pem'),
      'upstream-token-file': path('token'),
      'audit-log': join(options.folder, 'audit.log'),
    }),
  )
  const faulty = await start(
    'faulty',
    faults.map(rule => `--fault=${rule}`),
  )
  return { writable, proxy, faulty, door }
}

async function startOne(
  scope: Teardown,
  { endpoints, certificates, folder, sampleEveryMs }: ProgramsOptions,
  { name, args }: { name: ProgramName; args: readonly string[] },
): Promise<Program> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const [heapFile, logFile] = [join(folder, `${name}.heap`), join(folder, `${name}.log`)]
  // Samples are added to it; those of an earlier soak are none of this one.
  writeFileSync(heapFile, '')
  const path = (file: string): string => certificates.path(file)
  const common = {
    etcd: endpoints.join(','),
    'etcd-cacert': path('ca.pem'),
    'etcd-cert': path('client.pem'),
    'etcd-key': path('client.key'),
    listen: `https://127.0.0.1:${port}`,
    'admin-listen': `http://127.0.0.1:${adminPort}`,
    'tls-cert': path('listener.pem'),
    'tls-key': path('listener.key'),
    'memory-budget': budgets[name],
  }
  // Forced collections would hide what V8 does not collect by itself.
  const isCollected = name !== 'proxy'
  const collector = fileURLToPath(new URL('collect.js', import.meta.url))
  const child = spawn(
    nodeFor(args),
    [
      ...heapFlags[isCollected ? 'forced' : 'own'],
      '--enable-source-maps',
      '--import',
      collector,
      '.',
      'serve',
      ...flags(common),
      ...args,
    ],
    {
      stdio: ['ignore', 'ignore', openSync(logFile, 'w')],
      env: {
        ...process.env,
        [fileVariable]: heapFile,
        // A collection takes longer than the other samples.
        [periodVariable]: String(2 * sampleEveryMs),
        ...(isCollected && { [collectVariable]: '1' }),
        ...allocator,
      },
    },
  )
  const exited = once(child, 'exit')
  scope.teardown(async () => {
    child.kill()
    await exited
  })
  const program = { name, port, adminPort, child, heapFile, isCollected, logFile }
  await isReady(program)
  return program
}

/** Options as arguments. */
export function flags(options: Readonly<Record<string, string | true>>): string[] {
  return Object.entries(options).map(([name, value]) =>
    value === true ? `--${name}` : `--${name}=${value}`,
  )
}

async function isReady({ name, adminPort, child, logFile }: Program): Promise<void> {
  for (const latest = Date.now() + 60_000; ;) {
    const status = await ask(adminPort, { path: '/readyz' }).then(
      answer => answer.status,
      () => 0,
    )
    if (status === 200) return
    if (child.exitCode !== null || Date.now() > latest) {
      throw new Error(`the program ${name} is not ready: see ${logFile}`)
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
