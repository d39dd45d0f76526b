import {
  chmodSync,
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { keyFromBytes, keyFromText, prefixRange } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import type { Client } from '../../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../../lib/etcd/grpc/client.ts'
import {
  type RecordedChanges,
  RecordingWriter,
  readRecording,
} from '../../../../lib/cli/commands/recordings/recording.ts'
import { createForeignWriter } from '../../../../lib/cli/commands/recordings/foreign.ts'
import type { FileAccess } from '../../../../lib/cli/commands/recordings/text-file.ts'
import { replay } from '../../../support/etcd/replay.ts'
import { type Change, KeyValue } from '../../../../lib/store/event.ts'
import { entriesAt, historyBatches, meta } from '../../../golden/load.ts'
import { startEtcd } from '../../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../../support/etcd/real-etcd.ts'

const golden = fileURLToPath(
  new URL('../../../../../test/golden/data/1.36/history.jsonl.gz', import.meta.url),
)
const etcd = await findEtcd('3.5')

const put =
  '{"rev":7,"type":"put","key":"/a","value":"eA==","create_revision":7,"mod_revision":7,"version":1,"lease":"0"}'

async function all(path: string): Promise<RecordedChanges[]> {
  const items: RecordedChanges[] = []
  for await (const item of readRecording(path)) items.push(item)
  return items
}

t.test('the golden history is read with every field, and written as it was', async t => {
  const path = join(t.testdir(), 'copy.jsonl.gz')
  const writer = await RecordingWriter.create(path)
  const items = await all(golden)
  for (const item of items) await writer.write(item)
  await writer.close()
  t.equal(writer.lines, 800)
  t.ok(gunzipSync(readFileSync(path)).equals(gunzipSync(readFileSync(golden))))
  t.strictSame(
    items.map(({ revision, changes }) => [revision, changes.map(textOf)]),
    historyBatches().map(({ revision, changes }) => [revision, changes.map(textOf)]),
  )
  t.notOk(items.some(({ isBase }) => isBase))
})

/** The permissions of a file that a recording is written to. */
async function modeOf(path: string, access?: FileAccess): Promise<number> {
  await (await RecordingWriter.create(path, undefined, access)).close()
  return statSync(path).mode & 0o777
}

t.test('a recording is for its owner only, also in place of a file that others read', async t => {
  const folder = t.testdir({ old: 'old', target: 'old' })
  t.equal(await modeOf(join(folder, 'new.jsonl')), 0o600)
  t.equal(await modeOf(join(folder, 'new.jsonl.gz')), 0o600)
  const old = join(folder, 'old')
  chmodSync(old, 0o666)
  const reader = openSync(old, 'r')
  t.teardown(() => closeSync(reader))
  t.equal(await modeOf(old), 0o600)
  t.not(fstatSync(reader).ino, statSync(old).ino, 'nobody has it open already')
  const [target, link] = [join(folder, 'target'), join(folder, 'link')]
  chmodSync(target, 0o644)
  symlinkSync(target, link)
  t.equal(await modeOf(link), 0o600)
  t.ok(lstatSync(link).isSymbolicLink())
  const trace = join(folder, 'trace')
  await (await createForeignWriter('simkube', trace, () => 0)).close()
  t.equal(statSync(trace).mode & 0o777, 0o600)
  t.equal(await modeOf(join(folder, 'anonymous'), 'shared'), 0o666 & ~process.umask())
})

t.test('the golden history replays into a real etcd', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const client = new GrpcClient({ endpoints })
  t.teardown(() => client.close())
  t.equal(await replay(readRecording(golden), client), meta().end_revision)
  const { entries, header } = await client.range({ range: prefixRange(keyFromText('')) })
  const expected = entriesAt(meta().end_revision)
  t.equal(header.revision, meta().end_revision)
  t.equal(entries.length, expected.size)
  t.strictSame(
    // Leases are not replayed.
    entries.map(entry => textOf({ type: 'put', entry })),
    [...expected.values()]
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(entry => textOf({ type: 'put', entry: withoutLease(entry) })),
  )
  await t.rejects(replay(readRecording(golden), client), { code: 'conflict' })
})

t.test('what is no recording is refused with the line that is wrong', async t => {
  const rows: [string, RegExp][] = [
    ['nothing', /line 1: it is not JSON/],
    ['[]', /line 1: it is not an object/],
    ['', /line 1: it is not JSON/],
    [put.replace('"rev":7', '"rev":7.5'), /line 1: rev is not a whole number/],
    [put.replace('"rev":7', '"rev":"7"'), /line 1: rev is not a whole number/],
    [put.replace('"put"', '"touch"'), /line 1: type is neither put nor delete/],
    [put.replace('"key":"/a",', ''), /line 1: there is no key/],
    [put.replace('"/a"', '""'), /line 1: key is not a text/],
    [put.replace('eA==', 'e!=='), /line 1: value is not base64/],
    [put.replace('eA==', 'eA='), /line 1: value is not base64/],
    [put.replace('"lease":"0"', '"lease":0'), /line 1: lease is not a whole number in quotes/],
    [put.replace('"version":1', '"version":0'), /line 1: version is not a whole number/],
    [put.replace('"version":1', '"version":2'), /line 1: a later version of a key/],
    [
      put.replace('"create_revision":7', '"create_revision":6'),
      /line 1: the first version of a key/,
    ],
    [put.replace('"create_revision":7', '"create_revision":8'), /line 1: .* are not in order/],
    [put.replace('"mod_revision":7', '"mod_revision":8'), /line 1: .* are not in order/],
    [put.replace('}', ',"more":1}'), /line 1: a put has more fields/],
    ['{"rev":7,"type":"delete","key":"/a","value":""}', /line 1: a delete has more fields/],
    [`${put}\n${put}`, /line 2: the key changes twice at revision 7/],
    [`${put}\n${put.replaceAll('7', '6')}`, /line 2: rev 6 comes after rev 7/],
    [`${put}\n${put.replace('7', '9')}`, /line 2: mod_revision is not rev/],
  ]
  const path = join(t.testdir(), 'wrong.jsonl')
  for (const [text, message] of rows) {
    writeFileSync(path, `${text}\n`)
    await t.rejects(all(path), { code: 'invalid_request', message }, text)
  }
  writeFileSync(path, put)
  await t.rejects(all(path), { message: /ends in the middle of a line/ })
  await t.rejects(all(join(path, 'none')), { code: 'invalid_request', message: /cannot be read/ })
  const compressed = gzipSync(`${put}\n`)
  writeFileSync(`${path}.gz`, compressed.subarray(0, compressed.length - 9))
  await t.rejects(all(`${path}.gz`), { message: /cannot be read/ })
  writeFileSync(`${path}.gz`, `${put}\n`)
  await t.rejects(all(`${path}.gz`), { message: /cannot be read/ })
})

t.test('an empty recording has nothing in it', async t => {
  const path = join(t.testdir(), 'empty.jsonl.gz')
  await (await RecordingWriter.create(path)).close()
  t.strictSame(await all(path), [])
})

t.test('a recording from the middle of a history has a base', async t => {
  const path = join(t.testdir(), 'middle.jsonl')
  const writer = await RecordingWriter.create(path)
  await writer.writeBase(revision(9), [entry('a', { created: 3, modified: 5, version: 2 })])
  await writer.writeBase(revision(9), [])
  await writer.writeBase(revision(9), [entry('b', { created: 9, modified: 9, version: 1 })])
  const changed = entry('a', { created: 3, modified: 11, version: 3 })
  await writer.write({ revision: revision(11), changes: [{ type: 'put', entry: changed }] })
  await writer.write({ revision: revision(12), changes: [{ type: 'delete', key: changed.key }] })
  await writer.close()
  const items = await all(path)
  t.strictSame(
    items.map(({ revision, changes, isBase }) => [revision, isBase, changes.map(textOf)]),
    [
      [9, true, ['a 3 5 2 7 va', 'b 9 9 1 7 vb']],
      [11, false, ['a 3 11 3 7 va']],
      [12, false, ['delete a']],
    ],
  )
  await t.rejects(replay(readRecording(path), {} as Client), { code: 'unsupported' })
})

t.test('keys and values of any bytes come back', async t => {
  const path = join(t.testdir(), 'bytes.jsonl')
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  const window = { bytes: Buffer.concat([bytes, bytes]), start: 128, end: 384 }
  const keys = [keyFromBytes(bytes), keyFromText('ü\u2028"'), keyFromText('\0')]
  const writer = await RecordingWriter.create(path)
  const at = revision(4)
  const meta = { createRevision: at, modRevision: at, version: 1, lease: 0x7fff_ffff_ffff_ffffn }
  const written = keys.map(
    key => ({ type: 'put', entry: new KeyValue(key, window, meta) }) as const,
  )
  await writer.write({ revision: at, changes: written })
  await writer.close()
  const [item] = await all(path)
  t.strictSame(item?.changes.map(textOf), written.map(textOf))
})

t.test('lines may be longer than what is read at once', async t => {
  const path = join(t.testdir(), 'long.jsonl.gz')
  const writer = await RecordingWriter.create(path)
  const lengths = [0, 1, 70_000, 2_000_000, 3]
  for (const [i, length] of lengths.entries()) {
    const at = revision(i + 1)
    const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
    const window = { bytes: Buffer.alloc(length, i), start: 0, end: length }
    const change = { type: 'put', entry: new KeyValue(keyFromText(`${i}`), window, meta) } as const
    await writer.write({ revision: at, changes: [change] })
  }
  await writer.close()
  const items = await all(path)
  t.strictSame(
    items.map(({ changes: [change] }) => (change?.type === 'put' ? change.entry.valueLength : -1)),
    lengths,
  )
  for await (const first of readRecording(path)) {
    t.equal(first.revision, 1)
    break
  }
})

t.test('a file that cannot be written is a failure', async t => {
  const folder = t.testdir()
  await t.rejects(RecordingWriter.create(join(folder, 'none', 'a.jsonl')), {
    code: 'invalid_request',
    message: /cannot be written/,
  })
})

function entry(
  name: string,
  meta: { created: number; modified: number; version: number },
): KeyValue {
  const bytes = Buffer.from(`v${name}`)
  return new KeyValue(
    keyFromText(name),
    { bytes, start: 0, end: bytes.length },
    {
      createRevision: revision(meta.created),
      modRevision: revision(meta.modified),
      version: meta.version,
      lease: 7n,
    },
  )
}

function withoutLease(entry: KeyValue): KeyValue {
  const { key, createRevision, modRevision, version } = entry
  return new KeyValue(key, entry, { createRevision, modRevision, version, lease: 0n })
}

/** Everything about a change, as text that compares. */
function textOf(change: Change): string {
  if (change.type === 'delete') return `delete ${change.key}`
  const { key, createRevision, modRevision, version, lease, value } = change.entry
  const text = Buffer.from(value).toString('latin1')
  return `${key} ${createRevision} ${modRevision} ${version} ${lease} ${text}`
}

t.test('a small file whose line never ends is refused before it fills the memory', async t => {
  const path = join(t.testdir(), 'endless.jsonl.gz')
  writeFileSync(path, gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '), { level: 1 }))
  await t.rejects(all(path), {
    code: 'invalid_request',
    message: /endless\.jsonl\.gz cannot be read: a line is longer than 67108864 bytes$/,
  })
})

t.test('a base that is not whole is told, with what there is of it', async t => {
  const path = join(t.testdir(), 'part.jsonl')
  const told: number[] = []
  const read = async (): Promise<number> => {
    let entries = 0
    for await (const { changes } of readRecording(path, undefined, count => told.push(count))) {
      entries += changes.length
    }
    return entries
  }
  const writer = await RecordingWriter.create(path)
  await writer.writeBase(revision(9), [entry('a', { created: 3, modified: 5, version: 2 })])
  await writer.writeBase(revision(9), [entry('b', { created: 9, modified: 9, version: 1 })])
  const whole = await RecordingWriter.create(`${path}.whole`)
  await writer.close()
  t.equal(await read(), 2)
  t.strictSame(told.splice(0), [2])
  await whole.writeBase(revision(9), [entry('a', { created: 3, modified: 5, version: 2 })])
  await whole.endBase(revision(9))
  await whole.close()
  renameSync(`${path}.whole`, path)
  t.equal(await read(), 1)
  t.strictSame(told, [])
  writeFileSync(path, '{"rev":0,"type":"base_begin"}\n')
  await t.rejects(read(), { message: /line 1: rev is not a whole number/ })
})
