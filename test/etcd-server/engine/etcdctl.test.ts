/** etcdctl, the real one, says the same on a real etcd, on the engine and through a replica. */

import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { findEtcd, findEtcdctl } from '../../support/etcd/real-etcd.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { startTestReplica } from '../../support/etcd/test-replica.ts'
import { startEngine } from './differential.ts'
import { patient } from '../../support/patience.ts'

const etcd = await findEtcd('3.5')
const etcdctl = await findEtcdctl()
const skip = etcd.skip || etcdctl.skip

interface Command {
  readonly args: string
  readonly input?: string
  /** The command runs until it has printed so many lines. */
  readonly lines?: number
}

const commands: readonly Command[] = [
  { args: 'put a 1' },
  { args: 'put a 2 --prev-kv' },
  { args: 'put b/1 one' },
  { args: 'put b/2 two' },
  { args: 'put b/3', input: 'three from the input' },
  { args: 'put a --ignore-value' },
  { args: 'put missing --ignore-value' },
  { args: 'get a' },
  { args: 'get a --rev=2' },
  { args: 'get a --rev=900' },
  { args: 'get a -w json' },
  { args: 'get a -w fields' },
  { args: 'get a --hex' },
  { args: 'get b --prefix' },
  { args: 'get b --prefix --limit=2' },
  { args: 'get b --prefix --limit=2 -w json' },
  { args: 'get b --prefix --keys-only' },
  { args: 'get b --prefix --count-only -w fields' },
  { args: 'get b --prefix --print-value-only' },
  { args: 'get b --prefix --order=DESCEND --sort-by=VALUE' },
  { args: 'get b --prefix --rev=5 --limit=1' },
  { args: 'get --from-key b/2' },
  { args: 'get a b/2 --consistency=s' },
  { args: 'get --prefix  -w json' },
  { args: 'watch --rev=2 --prev-kv --prefix ', lines: 22 },
  { args: 'watch --rev=3 a -w json', lines: 1 },
  { args: 'txn', input: 'value("a") = "2"\n\nput c 1\nget b --prefix\ndel b/1\n\nput d 1\n\n' },
  { args: 'txn -w json', input: 'mod("a") > "99"\n\nput c 1\n\nget a\nget c\n\n' },
  { args: 'txn', input: '\nput twice 1\nput twice 2\n\n\n' },
  { args: 'get --prefix ' },
  { args: 'del b/2 --prev-kv' },
  { args: 'del b/2' },
  { args: 'del b --prefix' },
  { args: 'watch --rev=7 --prev-kv --prefix ', lines: 23 },
  { args: 'compaction 7' },
  { args: 'compaction 7' },
  { args: 'compaction 900' },
  { args: 'get a --rev=6' },
  { args: 'get a --rev=7' },
  { args: 'watch --rev=6 a' },
  { args: 'lease grant 600' },
  { args: 'put leased/1 x --lease=LEASE' },
  { args: 'put leased/2 y --lease=LEASE' },
  { args: 'put leased/2 z --ignore-lease' },
  { args: 'put a 1 --lease=1234' },
  { args: 'get leased --prefix -w json' },
  { args: 'lease list' },
  { args: 'lease timetolive LEASE --keys' },
  { args: 'lease keep-alive LEASE --once' },
  { args: 'lease revoke LEASE' },
  { args: 'lease revoke LEASE' },
  { args: 'lease timetolive LEASE' },
  { args: 'lease keep-alive LEASE --once' },
  { args: 'get leased --prefix' },
  { args: 'watch --rev=13 --prefix leased', lines: 9 },
  { args: 'lock door echo entered' },
  { args: 'endpoint health' },
  { args: 'alarm list' },
  { args: 'auth status' },
]

/** The output of etcdctl for a server that is new. */
async function printed(address: string): Promise<string[]> {
  const session = new Session(address)
  const texts: string[] = []
  for (const command of commands) texts.push(await session.run(command))
  return texts
}

/** For etcd itself. */
let wanted: Promise<string[]> | undefined

async function compare(t: Test, address: string): Promise<void> {
  t.setTimeout(patient(300_000))
  wanted ??= startEtcd(t, etcd).then(({ endpoints }) => printed(addressOf(endpoints)))
  const [found, texts] = await Promise.all([printed(address), wanted])
  for (const [i, { args }] of commands.entries()) t.equal(found[i], texts[i], `etcdctl ${args}`)
}

function addressOf([endpoint = '']: readonly string[]): string {
  return endpoint.replace('http://', '')
}

t.test('etcdctl prints the same for etcd and for the engine', { skip }, async t => {
  await compare(t, await startEngine(t))
})

t.test('etcdctl prints the same for etcd and through a replica', { skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const replica = await startTestReplica(t, endpoints)
  await replica.ready()
  await compare(t, replica.address)
  t.ok(replica.count('Range', 'mirror') > 10, 'gets are answered from the mirror')
  t.ok(replica.count('Watch', 'mirror') > 3, 'and so are watches')
})

t.test('what the engine does not do is refused cleanly', { skip }, async t => {
  const session = new Session(await startEngine(t))
  for (const args of ['snapshot save /dev/null', 'defrag', 'endpoint hashkv']) {
    t.match(await session.run({ args }), /Unimplemented/, args)
  }
  for (const args of ['user list', 'role add r', 'auth enable']) {
    t.match(await session.run({ args }), /authentication is not enabled/, args)
  }
  t.match(await session.run({ args: 'endpoint status -w json' }), /"version":"3\.5\.\d+"/)
  t.match(await session.run({ args: 'member list' }), /started, embedded0, /)
})

/** etcdctl on one server. */
class Session {
  readonly #address: string
  /** The lease that was granted last. */
  #lease = 'none'

  constructor(address: string) {
    this.#address = address
  }

  /** The output of the command, without addresses, ids and times, which are chance. */
  async run(command: Command): Promise<string> {
    const args = [
      `--endpoints=${this.#address}`,
      ...command.args.split(' ').map(word => word.replace('LEASE', this.#lease)),
    ]
    const text =
      command.lines === undefined
        ? await runToEnd(args, command.input)
        : await runForLines(args, command.lines)
    const granted = /^lease ([0-9a-f]+) granted/.exec(text)?.[1]
    if (granted !== undefined) this.#lease = granted
    return this.#comparable(text)
  }

  #comparable(text: string): string {
    return text
      .replaceAll(this.#address, 'ADDRESS')
      .replaceAll(this.#lease, 'LEASE')
      .replaceAll(/"lease":\d+/g, '"lease":ID')
      .replaceAll(
        /("(?:cluster_id|member_id|raft_term)":|"(?:ClusterID|MemberID|RaftTerm)" : )\d+/g,
        '$1ID',
      )
      .replaceAll(/remaining\(\d+s\)/g, 'remaining(SECONDS)')
      .replaceAll(/took = [\d.]+\S+/g, 'took = TIME')
      .replace(
        /keys\(\[(.*)\]\)/,
        (_all, keys: string) => `keys ${keys.split(' ').sort().join(' ')}`,
      )
      .replaceAll(/door\/[0-9a-f]+/g, 'door/LEASE')
      .split('\n')
      .filter(line => !line.startsWith('{"level":'))
      .join('\n')
  }
}

/** It runs for a moment, and needs neither its collector nor several threads. */
const brief = { ...process.env, GOGC: 'off', GOMAXPROCS: '1' }

function runToEnd(args: readonly string[], input: string | undefined): Promise<string> {
  return new Promise(resolve => {
    const options = { timeout: patient(30_000), env: brief }
    const child = execFile(etcdctl.binary, args, options, (error, stdout, stderr) => {
      resolve(`${stdout}${stderr}exit code ${error === null ? 0 : String(error.code)}`)
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input ?? '')
  })
}

async function runForLines(args: readonly string[], count: number): Promise<string> {
  const child = spawn(etcdctl.binary, args, { stdio: ['ignore', 'pipe', 'ignore'], env: brief })
  const lines: string[] = []
  const timer = setTimeout(() => child.kill(), patient(20_000))
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === count) break
  }
  clearTimeout(timer)
  child.kill()
  return lines.join('\n')
}
