/** A data folder that somebody else can write to: it is read as it is or refused in a word, holds
 *  no start up, and has nothing written outside of it. */

import { execFileSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { allKeys, keyFromText } from '../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import {
  decodeHeader,
  encodeFrame,
  frameHeadBytes,
  headerBytes,
} from '../../lib/etcd-server/journal/frames.ts'
import { type KeptEngine, openKept, stateOf } from '../support/etcd/data-folder.ts'

async function put({ client }: KeptEngine, name: string, text: string, lease = 0n): Promise<void> {
  const change = { type: 'put', key: keyFromText(name), value: Buffer.from(text), lease } as const
  await client.txn({ compares: [], success: [change], failure: [] })
}

/** So small that a compaction makes a snapshot. */
const compactMinBytes = 500

async function fill(folder: string): Promise<void> {
  const kept = await openKept(folder, { compactMinBytes })
  const { id } = await kept.client.grantLease(1000, 0n)
  for (let i = 0; i < 12; i++) await put(kept, `/k/${i % 5}`, `v${i}`, i % 3 === 0 ? id : 0n)
  await kept.client.compact(revision(kept.engine.revision - 3))
  for (let i = 0; i < 6; i++) await put(kept, `/k/${i % 5}`, `w${i}`)
  await kept.close()
}

t.test('a link in the place of a file that is to be made is not followed', async t => {
  const folder = join(t.testdir({}), 'folder')
  const other = join(t.testdirName, 'other')
  writeFileSync(other, 'precious')
  const kept = await openKept(folder, { compactMinBytes })
  for (const kind of ['log', 'snapshot']) {
    symlinkSync(other, join(folder, `${kind}-00000002.new`))
  }
  for (let i = 0; i < 30; i++) await put(kept, `/k/${i}`, 'x'.repeat(50))
  await kept.client.compact(revision(kept.engine.revision - 2))
  await kept.close()
  t.same(readdirSync(folder).sort(), ['log-00000002', 'snapshot-00000002'])
  t.equal(readFileSync(other, 'utf8'), 'precious')
  const again = await openKept(folder)
  t.equal(again.engine.revision, kept.engine.revision)
  await again.close()
})

t.test('what is no file does not hold a start up', async t => {
  const make: Record<string, (path: string) => void> = {
    'a folder': path => mkdirSync(path),
    'a pipe': path => execFileSync('mkfifo', [path]),
    'a device without an end': path => symlinkSync('/dev/zero', path),
  }
  for (const [what, makeAt] of Object.entries(make)) {
    const folder = t.testdir({})
    makeAt(join(folder, 'snapshot-00000001'))
    await t.rejects(openKept(folder), { message: /snapshot-00000001 is no file/ }, what)
  }
})

/** The payloads of a file, and how they become one again. */
function taken(path: string): { payloads: Buffer[]; put(payloads: readonly Buffer[]): void } {
  const bytes = readFileSync(path)
  const head = bytes.subarray(0, headerBytes)
  const { mark } = decodeHeader(head)
  const payloads: Buffer[] = []
  for (let at = headerBytes; at < bytes.length;) {
    const length = bytes.readUInt32LE(at + mark.length)
    payloads.push(bytes.subarray(at + frameHeadBytes, at + frameHeadBytes + length))
    at += frameHeadBytes + length
  }
  const put = (changed: readonly Buffer[]): void =>
    writeFileSync(path, Buffer.concat([head, ...changed.map(one => encodeFrame(mark, one))]))
  return { payloads, put }
}

function changed(payloads: readonly Buffer[], random: Random): readonly Buffer[] {
  const at = randomInt(random, 0, payloads.length - 1)
  const payload = Buffer.from(payloads[at]!)
  const place = randomInt(random, 0, payload.length - 1)
  switch (randomInt(random, 0, 4)) {
    case 0:
      payload[place] = randomInt(random, 0, 255)
      return payloads.with(at, payload)
    case 1:
      return payloads.with(at, payload.subarray(0, place))
    case 2:
      return payloads.with(at, Buffer.concat([payload, payload.subarray(place)]))
    case 3:
      return payloads.toSpliced(at, 1)
    default:
      return payloads.toSpliced(at, 0, payload)
  }
}

t.test('files that were changed, with checksums that fit, are refused or usable', async t => {
  const good = join(t.testdir({}), 'good')
  await fill(good)
  const random = createRandom(7)
  const names = readdirSync(good)
  let refused = 0
  for (let i = 0; i < 80; i++) {
    const folder = join(t.testdirName, 'changed')
    rmSync(folder, { recursive: true, force: true })
    cpSync(good, folder, { recursive: true })
    const file = taken(join(folder, names[randomInt(random, 0, names.length - 1)]!))
    file.put(changed(file.payloads, random))
    const opened = await openKept(folder, { compactMinBytes }).catch((error: unknown) => error)
    if (!('close' in (opened as object))) {
      t.ok(opened instanceof CacheError && opened.message.startsWith(folder), String(opened))
      refused++
      continue
    }
    const kept = opened as KeptEngine
    await kept.client.range({ range: allKeys })
    await put(kept, '/k/new', 'x')
    await kept.client.compact(kept.engine.revision)
    const state = stateOf(kept.engine)
    await kept.close()
    const again = await openKept(folder)
    t.same(stateOf(again.engine), state)
    await again.close()
  }
  t.ok(refused > 0)
})
