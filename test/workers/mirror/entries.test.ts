import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import t from 'tap'
import type { Key } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { slabBytes } from '../../../lib/store/slab.ts'
import { EntryReader, EntryWriter } from '../../../lib/workers/mirror/entries.ts'
import { RecordReader, RecordWriter } from '../../../lib/workers/mirror/record.ts'
import { SlabNames, SlabShelf } from '../../../lib/workers/mirror/slabs.ts'

const revisions = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const entries = fc.record({
  key: fc.uint8Array({ maxLength: 300 }),
  value: fc.uint8Array({ maxLength: 500 }),
  isShared: fc.boolean(),
  createRevision: revisions,
  modRevision: revisions,
  version: revisions,
  lease: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })),
})

t.test('an entry reads as it was written, wherever its value lies', t => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 5 }), all => {
      const names = new SlabNames(() => {})
      const shelf = new SlabShelf(() => {})
      const writer = new EntryWriter(new RecordWriter(), names)
      writer.begin()
      const written = all.map(({ key, value, isShared, ...meta }) => {
        const memory = isShared ? new SharedArrayBuffer(value.length + 2) : undefined
        const bytes = memory === undefined ? Buffer.alloc(value.length + 2) : Buffer.from(memory)
        bytes.set(value, 1)
        const window = { bytes, start: 1, end: value.length + 1 }
        const entry = new KeyValue(Buffer.from(key).toString('latin1') as Key, window, {
          ...meta,
          createRevision: meta.createRevision as Revision,
          modRevision: meta.modRevision as Revision,
        })
        writer.entry(entry)
        return entry
      })
      for (const id of writer.slabs) shelf.add(id, names.memoryOf(id)!)
      const record = new RecordReader()
      record.begin(Buffer.from(writer.record.bytes), 0)
      const reader = new EntryReader(record, shelf)
      return written.every(entry => {
        const read = reader.entry()
        const { key, createRevision, modRevision, version, lease } = read
        return (
          key === entry.key &&
          createRevision === entry.createRevision &&
          modRevision === entry.modRevision &&
          version === entry.version &&
          lease === entry.lease &&
          Buffer.compare(read.value, entry.value) === 0 &&
          entry.bytes.buffer instanceof SharedArrayBuffer ===
            (read.bytes.buffer === entry.bytes.buffer)
        )
      })
    }),
  )
  t.end()
})

t.test('slabs that were forgotten are collected in a thread that does nothing else', async t => {
  const shelf = new SlabShelf(() => {})
  let collected = 0
  const registry = new FinalizationRegistry<number>(() => collected++)
  for (let id = 0; id < 1_200; id++) {
    shelf.add(id, new SharedArrayBuffer(slabBytes))
    registry.register(shelf.slab(id), id)
    shelf.forget(id)
    if (id % 10 === 0) await turn()
  }
  await turn()
  t.equal(shelf.size, 0)
  t.ok(collected > 100, `${collected} of 1,200 were collected`)
})
