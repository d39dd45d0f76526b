/** The recorded history of a real etcd, loaded into the engine, against a naive program that reads
 *  the same file. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { allKeys, keyFromText, prefixRange, textFromKey } from '../../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { silentLogger } from '../../../lib/base/logger.ts'
import { loadRecording } from '../../../lib/cli/commands/recordings/load.ts'
import { readRecording } from '../../../lib/cli/commands/recordings/recording.ts'
import { replay } from '../../support/etcd/replay.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { WatchRecorder } from '../../support/watch/watch-recorder.ts'
import { createTestEngine } from '../../support/etcd/test-engine.ts'

const file = 'test/golden/data/1.36/history.jsonl.gz'

interface Line {
  readonly rev: number
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly value: string
  readonly create_revision: number
  readonly mod_revision: number
  readonly version: number
  readonly lease: string
}

const lines = gunzipSync(readFileSync(file))
  .toString('utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Line)
const last = Math.max(...lines.map(line => line.rev))

const texts = new Map(lines.map(line => [line, textOfLine(line)]))

/** The state at a revision, from the file alone: one text for each key. */
function stateAt(at: number): string[] {
  const state = new Map<string, Line>()
  for (const line of lines) {
    if (line.rev > at) break
    if (line.type === 'put') state.set(line.key, line)
    else state.delete(line.key)
  }
  return [...state.values()].map(line => texts.get(line) ?? '').sort()
}

function textOfLine(line: Line): string {
  const { key, value, create_revision, mod_revision, version, lease } = line
  return JSON.stringify([key, value, create_revision, mod_revision, version, lease])
}

function textOfEntry(entry: KeyValue): string {
  const value = Buffer.from(entry.value).toString('base64')
  const { createRevision, modRevision, version, lease } = entry
  const key = textFromKey(entry.key)
  return JSON.stringify([key, value, createRevision, modRevision, version, String(lease)])
}

async function loaded(t: Test): Promise<Client> {
  const { engine, client } = createTestEngine(t)
  await loadRecording(engine, file, silentLogger)
  assert.equal(engine.revision, last)
  return client
}

t.test('every field of every entry is as it was recorded, at 100 revisions', async t => {
  const client = await loaded(t)
  const random = createRandom(3)
  for (let i = 0; i < 100; i++) {
    const at = i === 0 ? last : randomInt(random, 1, last)
    const { entries, count, header } = await client.range({
      range: allKeys,
      revision: revision(at),
    })
    assert.deepEqual(entries.map(textOfEntry).sort(), stateAt(at), `revision ${at}`)
    assert.deepEqual([count, header.revision], [entries.length, last])
  }
  t.pass()
})

t.test('prefixes, limits and counts at a revision are those of the file', async t => {
  const client = await loaded(t)
  const random = createRandom(4)
  for (let i = 0; i < 100; i++) {
    const at = randomInt(random, 1, last)
    const prefix = ['/registry/pods/', '/registry/', '/registry/events/', '/r', 'none'][i % 5]!
    const limit = randomInt(random, 1, 40)
    const keys = stateAt(at)
      .map(text => (JSON.parse(text) as [string])[0])
      .filter(key => key.startsWith(prefix))
    const range = prefixRange(keyFromText(prefix))
    const page = await client.range({ range, revision: revision(at), limit })
    assert.deepEqual(
      page.entries.map(entry => textFromKey(entry.key)),
      keys.slice(0, limit),
    )
    assert.deepEqual([page.count, page.more], [keys.length, keys.length > limit])
  }
  t.pass()
})

t.test('a watch from the beginning tells the whole file in its order', async t => {
  const client = await loaded(t)
  const sink = new WatchRecorder()
  client.watch({ range: allKeys, startRevision: revision(2) }, sink)
  await sink.until(({ batches }) => batches.at(-1)?.revision === last)
  const told = sink.batches.flatMap(batch =>
    batch.changes.map(change =>
      change.type === 'put'
        ? `${batch.revision} put ${textOfEntry(change.entry)}`
        : `${batch.revision} delete ${textFromKey(change.key)}`,
    ),
  )
  assert.deepEqual(
    told,
    lines.map(line =>
      line.type === 'put'
        ? `${line.rev} put ${textOfLine(line)}`
        : `${line.rev} delete ${line.key}`,
    ),
  )
  t.pass()
})

t.test('the recording written as transactions comes to the same state', async t => {
  const { client } = createTestEngine(t)
  t.equal(await replay(readRecording(file), client), last)
  const { entries } = await client.range({ range: allKeys })
  // Leases are not replayed.
  const withoutLease = (text: string): string =>
    JSON.stringify((JSON.parse(text) as []).slice(0, 5))
  t.strictSame(
    entries.map(textOfEntry).map(withoutLease).sort(),
    stateAt(last).map(withoutLease).sort(),
  )
})

t.test('the engine goes on where the recording ends', async t => {
  const client = await loaded(t)
  const key = keyFromText(lines.at(-1)!.key)
  const put = { type: 'put', key, value: Buffer.from('new') } as const
  const { header } = await client.txn({ compares: [], success: [put], failure: [] })
  t.equal(header.revision, last + 1)
})
