import { spawnSync } from 'node:child_process'
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  rmdir,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { allKeys, keyFromText, prefixRange, singleKey } from '../../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { openDataFolder } from '../../../lib/etcd-server/journal/data-folder.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type KeptEngine, openKept, stateOf } from '../../support/etcd/data-folder.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const put = (
  kept: Pick<KeptEngine, 'client'>,
  name: string,
  text: string,
  lease = 0n,
): Promise<unknown> =>
  kept.client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(name), value: Buffer.from(text), lease }],
    failure: [],
  })

/** One thing that a client may do. */
async function step(kept: KeptEngine, random: Random, leases: bigint[]): Promise<void> {
  const name = `/k/${randomInt(random, 0, 9)}`
  const { client, engine } = kept
  const choice = randomInt(random, 0, 9)
  if (choice < 5) {
    const lease = leases[randomInt(random, 0, 9)] ?? 0n
    await put(kept, name, 'x'.repeat(randomInt(random, 0, 60)), lease)
  } else if (choice === 5) {
    const success = [1, 2, 3].map(i => ({
      type: 'put' as const,
      key: keyFromText(`/t/${i}`),
      value: Buffer.from(`${engine.revision}`),
    }))
    await client.txn({ compares: [], success, failure: [] })
  } else if (choice === 6) {
    const range = singleKey(keyFromText(name))
    await client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
  } else if (choice === 7) {
    leases.push((await client.grantLease(1000 + randomInt(random, 0, 9), 0n)).id)
  } else if (choice === 8) {
    const id = leases.pop()
    if (id !== undefined) await client.revokeLease(id)
  } else if (engine.revision - engine.compactRevision > 8) {
    await client.compact(revision(engine.revision - randomInt(random, 0, 4)))
  }
}

t.test('all that a client can see is there again, whatever was done', async t => {
  for (let seed = 1; seed <= 10; seed++) {
    const folder = join(t.testdir({}), 'made', 'anew')
    const random = createRandom(seed)
    const leases: bigint[] = []
    let kept = await openKept(folder, { compactMinBytes: 500 })
    const { clusterId } = kept.engine
    const memberId = kept.engine.members[0]!.id
    for (let start = 0; start < 4; start++) {
      for (let i = 0; i < 40; i++) await step(kept, random, leases)
      const before = stateOf(kept.engine)
      const { raftTerm } = kept.engine
      await kept.close()
      kept = await openKept(folder, { compactMinBytes: 500 })
      t.ok(kept.isRecovered)
      t.strictSame(stateOf(kept.engine), before, `seed ${seed}`)
      t.equal(kept.engine.clusterId, clusterId)
      t.equal(kept.engine.members[0]!.id, memberId)
      t.equal(kept.engine.raftTerm, raftTerm + 1n)
    }
    await kept.close()
    await rm(folder, { recursive: true })
  }
})

t.test('a crash at any byte of the last writes loses only what came after it', async t => {
  const folder = join(t.testdir({}), 'data')
  const random = createRandom(7)
  const leases: bigint[] = []
  const kept = await openKept(folder)
  for (let i = 0; i < 30; i++) await step(kept, random, leases)
  const log = join(folder, 'log-00000001')
  /** The states that were answered, by the size that the log had then. */
  const answered: { size: number; state: unknown }[] = []
  const note = async (): Promise<void> => {
    answered.push({ size: (await stat(log)).size, state: stateOf(kept.engine) })
  }
  await note()
  for (let i = 0; i < 4; i++) {
    await step(kept, random, leases)
    await note()
  }
  const end = answered.at(-1)!.size
  const copy = join(folder, '..', 'copy')
  await kept.close()
  for (let size = answered[0]!.size; size <= end; size++) {
    await rm(copy, { recursive: true, force: true })
    await cp(folder, copy, { recursive: true })
    await truncate(join(copy, 'log-00000001'), size)
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) }
    const again = await openKept(copy, { logger })
    const expected = answered.findLast(each => each.size <= size)!
    t.strictSame(stateOf(again.engine), expected.state, `${size} of ${end} bytes`)
    t.equal(warnings.length, expected.size === size ? 0 : 1)
    // It goes on from there, and what it writes is found.
    await put(again, '/later', 'x')
    const later = stateOf(again.engine)
    await again.close()
    if (size % 10 > 0) continue
    const third = await openKept(copy)
    t.strictSame(stateOf(third.engine), later)
    await third.close()
  }
})

t.test(
  'a crash between any two steps of a compaction leaves a folder that can be read',
  async t => {
    const folder = join(t.testdir({}), 'data')
    let kept = await openKept(folder)
    for (let i = 0; i < 20; i++) await put(kept, `/a/${i % 3}`, 'before')
    await kept.close()
    const before = join(folder, '..', 'before')
    await cp(folder, before, { recursive: true })
    kept = await openKept(folder, { compactMinBytes: 1 })
    await kept.client.compact(revision(15))
    const state = stateOf(kept.engine)
    await kept.close()
    t.strictSame((await readdir(folder)).sort(), ['log-00000002', 'snapshot-00000002'])
    t.ok((await readFile(join(folder, 'snapshot-00000002'))).length < 1500)
    const whole = await readFile(join(folder, 'snapshot-00000002'))
    const cases: [string, () => Promise<void>][] = [
      ['old files are still there', async () => cp(before, folder, { recursive: true })],
      ['one of them', async () => cp(join(before, 'log-00000001'), join(folder, 'log-00000001'))],
      [
        'a snapshot that was not finished',
        async () => writeFile(join(folder, 'snapshot-00000003.new'), whole.subarray(0, 90)),
      ],
    ]
    for (const [name, leave] of cases) {
      await leave()
      const again = await openKept(folder)
      t.strictSame(stateOf(again.engine), state, name)
      await again.close()
      t.strictSame((await readdir(folder)).sort(), ['log-00000002', 'snapshot-00000002'], name)
    }
  },
)

t.test(
  'a lease has what was left of its time, and time in which nothing runs does not count',
  async t => {
    const folder = join(t.testdir({}), 'data')
    const clock = new FakeClock()
    const first = await openKept(folder, { clock })
    await first.client.grantLease(100, 5n)
    await first.client.grantLease(100, 6n)
    await put(first, '/leased', 'x', 5n)
    await clock.advance(40_000)
    await first.client.keepLeaseAlive(6n)
    await clock.advance(20_000)
    await first.close()
    await clock.advance(1_000_000)
    const again = await openKept(folder, { clock })
    const left = (id: bigint): number => {
      const { lessor } = again.engine
      return lessor.remainingSeconds(lessor.get(id)!)
    }
    t.equal(left(5n), 40)
    t.equal(left(6n), 80)
    await clock.advance(41_000)
    t.notOk(again.engine.lessor.has(5n))
    while (again.engine.leader.revision < again.engine.revision) await systemClock.yield()
    const { count } = await again.client.range({
      range: prefixRange(keyFromText('/')),
      countOnly: true,
    })
    t.equal(count, 0)
    await again.close()
    const third = await openKept(folder, { clock })
    t.notOk(third.engine.lessor.has(5n))
    t.ok(third.engine.lessor.has(6n))
    t.equal(third.engine.revision, again.engine.revision)
    await third.close()
  },
)

t.test('nobody sees a write before the folder has it', async t => {
  const folder = join(t.testdir({}), 'data')
  const kept = await openKept(folder, { durability: 'fsync' })
  const [member] = kept.engine.members
  const writing = put(kept, '/a', 'x')
  await Promise.resolve()
  await Promise.resolve()
  t.equal(kept.engine.revision, 2, 'decided')
  t.equal(member!.revision, 1, 'not seen')
  await writing
  t.equal(member!.revision, 2)
  await kept.close()
})

t.test('many writes are one append', async t => {
  const folder = join(t.testdir({}), 'data')
  const kept = await openKept(folder)
  const log = join(folder, 'log-00000001')
  const before = (await stat(log)).size
  await Promise.all(Array.from({ length: 500 }, (_, i) => put(kept, `/k/${i}`, '')))
  const mark = (await readFile(log)).subarray(19, 27)
  const frames = (await readFile(log)).subarray(before).toString('latin1')
  const count = frames.split(mark.toString('latin1')).length - 1
  t.ok(count < 50, `${count} appends`)
  await kept.close()
})

t.test('a folder that is wrong is refused with what is wrong and what to do', async t => {
  const root = t.testdir({})
  const good = join(root, 'good')
  const kept = await openKept(good, { compactMinBytes: 1 })
  for (let i = 0; i < 20; i++) await put(kept, '/a', `value ${i}`)
  await kept.client.compact(revision(15))
  await put(kept, '/b', 'last')
  await kept.close()
  const log = 'log-00000002'
  const snapshot = 'snapshot-00000002'
  const flip = async (path: string, at: number): Promise<void> => {
    const bytes = await readFile(path)
    bytes[at]! ^= 1
    await writeFile(path, bytes)
  }
  const cases: [string, (folder: string) => Promise<unknown>, RegExp][] = [
    [
      'damage in the middle',
      folder => flip(join(folder, log), 60),
      /log-00000002 is damaged at byte 31: what follows is whole, .*truncate -s 31 /,
    ],
    [
      'damage of the snapshot',
      folder => flip(join(folder, snapshot), 60),
      /snapshot-00000002 is damaged at byte 31: put it back from a copy, or name an empty folder/,
    ],
    [
      'a snapshot that was cut',
      folder => truncate(join(folder, snapshot), 31),
      /snapshot-00000002 ends too early: put it back from a copy/,
    ],
    [
      'a log that is missing',
      folder => rm(join(folder, log)),
      /has snapshot-00000002, but not log-00000002: put the missing file back/,
    ],
    [
      'a snapshot that is missing',
      folder => rm(join(folder, snapshot)),
      /has log-00000002, but not snapshot-00000002: put the missing/,
    ],
    [
      'a gap between logs',
      folder => cp(join(folder, log), join(folder, 'log-00000004')),
      /has log-00000004, but not log-00000003/,
    ],
    [
      'a log under another name',
      folder => cp(join(folder, log), join(folder, 'log-00000003')),
      /log-00000003 is log-00000002 under another name: rename it/,
    ],
    [
      'another format',
      async folder => {
        const bytes = await readFile(join(folder, log))
        bytes.writeUInt32LE(7, 8)
        await writeFile(join(folder, log), bytes)
      },
      /log-00000002 is of format 7, and this version of watchglass reads format 1: start the version that wrote it/,
    ],
    [
      'something else',
      folder => writeFile(join(folder, log), 'hello\n'.repeat(9)),
      /log-00000002 is not a file of watchglass/,
    ],
    [
      'an etcd',
      folder => mkdir(join(folder, 'member')),
      /is the data folder of an etcd, which watchglass cannot read/,
    ],
  ]
  for (const [name, change, message] of cases) {
    const folder = join(root, 'bad')
    await cp(good, folder, { recursive: true })
    await change(folder)
    const names = (await readdir(folder)).sort()
    await t.rejects(openKept(folder), { code: 'invalid_request', message }, name)
    t.strictSame((await readdir(folder)).sort(), names, `${name}: nothing is changed`)
    await rm(folder, { recursive: true })
  }
})

t.test('a folder in use, no folder, and one that may not be used are refused', async t => {
  const root = t.testdir({ file: 'x' })
  const folder = join(root, 'data')
  const kept = await openKept(folder)
  await t.rejects(openKept(folder), { message: /data is in use by another process: stop that one/ })
  await put(kept, '/still', 'there')
  await kept.close()
  await t.rejects(openKept(join(root, 'file')), { message: /file is not a folder: name another/ })
  await t.rejects(openKept('/sys/none'), {
    message: /\/sys\/none cannot be (?:used|written), .* another folder|elsewhere/,
  })
  t.equal((await stat(folder)).mode & 0o777, 0o700)
  for (const name of await readdir(folder)) {
    t.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name)
  }
})

t.test('a folder that others may open is warned of, and stays as it is', async t => {
  const folder = t.testdir({})
  await chmod(folder, 0o777)
  const warnings: unknown[] = []
  const logger = { ...silentLogger, warn: (...said: unknown[]) => void warnings.push(said) }
  await (await openKept(folder, { logger })).close()
  t.match(warnings, [[/open to others, .* chmod 700/, { folder, mode: '777' }]])
  t.equal((await stat(folder)).mode & 0o777, 0o777)
  await chmod(folder, 0o700)
  await (await openKept(folder, { logger })).close()
  t.equal(warnings.length, 1)
})

const isLinux = process.platform === 'linux' ? false : 'there is no /proc'

t.test('a place that takes no folders is refused at once', { skip: isLinux }, async t => {
  await t.rejects(openKept('/proc/none'), {
    message: /^\/proc\/none cannot be made, the system takes no folders there: name another one$/,
  })
  await t.rejects(openKept('/proc/none/below'), { message: /takes no folders there/ })
})

t.test('a folder whose path is too long for a socket is used, and guarded', async t => {
  const folder = join(t.testdir({}), 'a'.repeat(120))
  const kept = await openKept(folder)
  await t.rejects(openKept(folder), { message: /is in use/ })
  await kept.close()
  await (await openKept(folder)).close()
})

t.test('a folder that was opened and not begun is still new', async t => {
  const folder = join(t.testdir({}), 'data')
  const clock = new FakeClock()
  const opened = await openDataFolder({ folder, durability: 'os', clock, logger: silentLogger })
  t.equal(opened.recovered, undefined)
  await opened.close()
  t.strictSame(await readdir(folder), [])
  const kept = await openKept(folder)
  t.notOk(kept.isRecovered)
  await kept.close()
})

t.test('what is decided while a folder is begun is kept, too', async t => {
  const folder = join(t.testdir({}), 'data')
  const clock = new FakeClock()
  const opened = await openDataFolder({ folder, durability: 'os', clock, logger: silentLogger })
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  await client.grantLease(5, 5n)
  await put({ client }, '/leased', 'x', 5n)
  const beginning = opened.begin(engine)
  await clock.advance(6000)
  t.notOk(engine.lessor.has(5n))
  const journal = await beginning
  await put({ client }, '/later', 'x')
  const state = stateOf(engine)
  await journal.close()
  engine.close()
  const again = await openKept(folder)
  t.strictSame(stateOf(again.engine), state)
  await again.close()
})

t.test('bytes behind the end that are no write are cut, even zeros of a file system', async t => {
  const folder = join(t.testdir({}), 'data')
  const kept = await openKept(folder)
  await put(kept, '/a', 'x')
  const state = stateOf(kept.engine)
  await kept.close()
  for (const rest of [Buffer.alloc(5000), Buffer.from('WGstate\n'), Buffer.alloc(3, 255)]) {
    await appendFile(join(folder, 'log-00000001'), rest)
    const again = await openKept(folder)
    t.strictSame(stateOf(again.engine), state)
    await again.close()
  }
})

t.test('a full disk refuses writes, says so once, and goes on when there is space', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-full-'))
  const size = ['-t', 'tmpfs', '-o', 'size=256k', 'none', folder]
  const isMounted = spawnSync('mount', size).status === 0
  t.teardown(async () => {
    if (isMounted) spawnSync('umount', ['-l', folder])
    await rmdir(folder)
  })
  if (!isMounted) {
    t.pass('no small file system may be mounted')
    return
  }
  const errors: string[] = []
  const logger = { ...silentLogger, error: (text: string) => void errors.push(text) }
  const kept = await openKept(folder, { logger })
  await writeFile(join(folder, 'other'), 'x'.repeat(150_000))
  await put(kept, '/small', 'x')
  const late = put(kept, '/large', 'x'.repeat(120_000))
  while (kept.engine.refusal === undefined) await systemClock.yield()
  await t.rejects(put(kept, '/refused', 'x'), {
    message: /log-00000001 cannot be written, the disk is full: free some space there/,
  })
  t.equal(errors.length, 1)
  t.match(errors[0], /writes are refused, it goes on by itself then/)
  const { count } = await kept.client.range({ range: allKeys, countOnly: true })
  t.equal(count, 1, 'reads are answered, without what is not kept')
  await rm(join(folder, 'other'))
  await late
  await put(kept, '/after', 'x')
  const state = stateOf(kept.engine)
  await kept.close()
  const again = await openKept(folder)
  t.strictSame(stateOf(again.engine), state)
  // Full from the start, and in the middle of a write that nobody is told of.
  await writeFile(join(folder, 'other'), 'x'.repeat(120_000))
  const lost = put(again, '/lost', 'x'.repeat(100_000)).catch((error: unknown) => error)
  while (again.engine.refusal === undefined) await systemClock.yield()
  await again.close()
  await lost
  const third = await openKept(folder)
  t.strictSame(stateOf(third.engine), state)
  await third.close()
  for (const name of await readdir(folder)) await rm(join(folder, name))
  await t.rejects(writeFile(join(folder, 'other'), 'x'.repeat(300_000)), { code: 'ENOSPC' })
  await t.rejects(openKept(folder), { message: /the disk is full: free some space there/ })
})
