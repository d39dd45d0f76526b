/** Real etcd clusters on loopback, for tests and benches: started on free ports with data in
 *  memory, stopped and removed when the test ends.
 *
 *  Every member is the child of a small shell that waits for the end of its input. However the test
 *  process ends, even by kill -9, that input ends, and the shell kills the member and removes its
 *  data. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { randomBytes } from 'node:crypto'
import { freePort } from '../program/ports.ts'
import type { Program } from './real-etcd.ts'
import { patient } from '../patience.ts'

export interface EtcdOptions {
  /** 1 by default. */
  readonly members?: number
  /** Certificates for the client side; with `clientAuth`, clients need one too. */
  readonly tls?: { ca: string; cert: string; key: string; clientAuth: boolean }
  /** More flags for every member. */
  readonly flags?: readonly string[]
  /** The folder below which the members have theirs, for data that is too large for memory. */
  readonly parent?: string
}

/** The end of a test (`t.teardown`), which a bench may build: calls every task at its end. */
export interface Teardown {
  teardown(task: () => Promise<void>): void
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[]
  /** One URL per member. */
  readonly endpoints: readonly string[]
  readonly version: string
  stop(): Promise<void>
}

export interface EtcdMember {
  readonly name: string
  readonly endpoint: string
  readonly processId: number
  /** SIGKILL. Its data stays for `restart`. */
  kill(): Promise<void>
  /** SIGSTOP, which has taken effect when it returns, and SIGCONT. */
  pause(): void
  resume(): void
  /** Starts it again after `kill`, on the same data and ports; resolves once it answers, or at once
   *  with `{wait: false}`. */
  restart(options?: { wait: boolean }): Promise<void>
  /** Copies its data, after `kill`, and puts the copy back in place of what there is then. */
  backUp(): Promise<void>
  restore(): Promise<void>
}

/** Starts a cluster that stops at the end of `scope`, and waits until every member answers
 *  linearizable reads. */
export async function startEtcd(
  scope: Teardown,
  etcd: Program,
  options: EtcdOptions = {},
): Promise<EtcdCluster> {
  for (let attempt = 1; ; attempt++) {
    const members = await createMembers(etcd, options)
    const stop = async (): Promise<void> => {
      await Promise.all(members.map(member => member.end()))
    }
    try {
      await Promise.all(members.map(member => member.start()))
      await Promise.all(members.map(member => member.waitUntilHealthy()))
      scope.teardown(stop)
      const endpoints = members.map(member => member.endpoint)
      return { members, endpoints, version: etcd.version, stop }
    } catch (error) {
      await stop()
      // Somebody else may have taken a port between our look and etcd's.
      if (attempt === 5 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function createMembers(etcd: Program, options: EtcdOptions): Promise<Member[]> {
  const count = options.members ?? 1
  const scheme = options.tls === undefined ? 'http' : 'https'
  const members: { name: string; client: number; peer: number; metrics: number }[] = []
  for (let i = 0; i < count; i++) {
    const [client, peer, metrics] = [await freePort(), await freePort(), await freePort()]
    members.push({ name: `m${i}`, client, peer, metrics })
  }
  const cluster = members.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',')
  const token = randomBytes(8).toString('hex')
  const parent = options.parent ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
  return Promise.all(
    members.map(async ({ name, client, peer, metrics }) => {
      const folder = await mkdtemp(join(parent, 'watchglass-etcd-'))
      const endpoint = `${scheme}://127.0.0.1:${client}`
      const peerUrl = `http://127.0.0.1:${peer}`
      const args = [
        `--name=${name}`,
        `--data-dir=${join(folder, 'data')}`,
        `--listen-client-urls=${endpoint}`,
        `--advertise-client-urls=${endpoint}`,
        `--listen-peer-urls=${peerUrl}`,
        `--initial-advertise-peer-urls=${peerUrl}`,
        `--listen-metrics-urls=http://127.0.0.1:${metrics}`,
        `--initial-cluster=${cluster}`,
        `--initial-cluster-token=${token}`,
        '--log-level=warn',
        // The least there is: what makes passwords slow to guess would be most of what tests of
        // users cost.
        '--bcrypt-cost=4',
        ...(etcd.version.startsWith('3.4.') ? [] : ['--unsafe-no-fsync']),
        ...tlsFlags(options.tls),
        ...(options.flags ?? []),
      ]
      return new Member({ name, endpoint, folder, args, binary: etcd.binary, metrics })
    }),
  )
}

function tlsFlags(tls: EtcdOptions['tls']): string[] {
  if (tls === undefined) return []
  return [
    `--cert-file=${tls.cert}`,
    `--key-file=${tls.key}`,
    ...(tls.clientAuth ? [`--trusted-ca-file=${tls.ca}`, '--client-cert-auth'] : []),
  ]
}

interface MemberSettings {
  readonly name: string
  readonly endpoint: string
  readonly folder: string
  readonly binary: string
  readonly args: readonly string[]
  readonly metrics: number
}

/** Obeys `start` and `kill`, a line each, and answers each with a line: the member's process id, or
 *  `killed`. */
const guardScript = `
log="$1"; folder="$2"; shift 2
member=
while read -r order; do
  case "$order" in
    start) "$@" >>"$log" 2>&1 & member=$!; echo "$member" ;;
    kill) kill -9 "$member"; wait "$member"; echo killed ;;
  esac
done
[ -z "$member" ] || { kill -9 "$member"; wait "$member"; }
rm -rf "$folder"
`

class Member implements EtcdMember {
  readonly name: string
  readonly endpoint: string
  readonly #settings: MemberSettings
  readonly #guard: ChildProcess
  readonly #answers: AsyncIterator<string>
  #processId = 0

  constructor(settings: MemberSettings) {
    this.name = settings.name
    this.endpoint = settings.endpoint
    this.#settings = settings
    const { binary, args, folder } = settings
    // A group of its own keeps the terminal's Ctrl-C from it: the end of input does the work.
    const guard = spawn('sh', ['-c', guardScript, 'sh', this.#log, folder, binary, ...args], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    guard.stdin.on('error', () => undefined)
    this.#answers = createInterface({ input: guard.stdout })[Symbol.asyncIterator]()
    this.#guard = guard
  }

  get processId(): number {
    return this.#processId
  }

  async start(): Promise<void> {
    this.#processId = Number(await this.#order('start'))
  }

  async kill(): Promise<void> {
    await this.#order('kill')
  }

  pause(): void {
    process.kill(this.#processId, 'SIGSTOP')
    // The signal takes a moment, in which the member may still answer.
    while (!isStopped(this.#processId)) continue
  }

  resume(): void {
    process.kill(this.#processId, 'SIGCONT')
  }

  async restart(options: { wait: boolean } = { wait: true }): Promise<void> {
    await this.start()
    if (options.wait) await this.waitUntilHealthy()
  }

  async backUp(): Promise<void> {
    await cp(this.#data, `${this.#data}-kept`, { recursive: true })
  }

  async restore(): Promise<void> {
    await rm(this.#data, { recursive: true })
    await cp(`${this.#data}-kept`, this.#data, { recursive: true })
  }

  /** Stops for good and removes the data. */
  async end(): Promise<void> {
    const exited = this.#guard.exitCode === null ? once(this.#guard, 'exit') : undefined
    this.#guard.stdin?.end()
    await exited
  }

  /** The health page answers true once a linearizable read has succeeded. */
  async waitUntilHealthy(): Promise<void> {
    for (const deadline = Date.now() + patient(60_000); ;) {
      if (await isHealthy(this.#settings.metrics)) return
      const hasExited = !isRunning(this.#processId)
      if (hasExited || Date.now() > deadline) {
        const log = await readFile(this.#log, 'utf8').catch(() => '')
        const state = hasExited ? 'ended at once' : 'did not become healthy'
        throw new Error(`etcd ${this.name} ${state}:\n${log.slice(-2000)}`)
      }
      await new Promise(resolve => setTimeout(resolve, 25))
    }
  }

  get #data(): string {
    return join(this.#settings.folder, 'data')
  }

  get #log(): string {
    return join(this.#settings.folder, 'etcd.log')
  }

  async #order(order: 'start' | 'kill'): Promise<string> {
    this.#guard.stdin?.write(`${order}\n`)
    const answer = await this.#answers.next()
    if (answer.done === true) throw new Error(`the guard of etcd ${this.name} has ended`)
    return answer.value
  }
}

/** True once every thread has stopped, and where there is no way to tell. */
function isStopped(processId: number): boolean {
  const folder = `/proc/${processId}/task`
  try {
    return readdirSync(folder).every(thread =>
      /\) [TtZX] /.test(readFileSync(`${folder}/${thread}/stat`, 'utf8')),
    )
  } catch {
    // No such folder, on other systems; or a thread that ended while we looked.
    return !existsSync(folder)
  }
}

/** False for a zombie too: the guard reaps a member only when it stops it. */
function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0)
    const status = readFileSync(`/proc/${processId}/stat`, 'utf8')
    return !/\) Z /.test(status)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync('/proc/self')
  }
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const request = get(
      { host: '127.0.0.1', port, path: '/health', timeout: patient(5000) },
      response => {
        response.resume()
        resolve(response.statusCode === 200)
      },
    )
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}
