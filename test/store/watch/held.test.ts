import t from 'tap'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import type { Batch } from '../../../lib/store/event.ts'
import type { Framed } from '../../../lib/store/watch/audience.ts'
import { Hub } from '../../../lib/store/watch/hub.ts'

t.test('watchers wait before a batch that cannot be told yet, and lose nothing', async t => {
  const batches: Batch[] = []
  let told: Framed = 'later'
  const history = {
    oldest: revision(1),
    get revision(): Revision {
      return batches.at(-1)?.revision ?? revision(1)
    },
    next: (after: Revision) => batches.find(batch => batch.revision > after),
  }
  const hub: Hub = new Hub({ history, onWork: () => queueMicrotask(() => hub.run(() => false)) })
  const sent: string[] = []
  const sink = {
    write: (frame: Uint8Array) => sent.push(Buffer.from(frame).toString()) > 0,
    expired: () => sent.push('expired'),
    inexact: () => sent.push('inexact'),
  }
  const spec = {
    id: 'all',
    range: allKeys,
    frameOf: (_: unknown, at: Revision): Framed => (at === 3 ? told : Buffer.from(String(at))),
  }
  const watcher = hub.add(spec, revision(1), sink)
  await Promise.resolve()
  const publish = (at: number): void => {
    const event = { key: keyFromText('/k'), before: undefined, after: undefined }
    const batch = { revision: revision(at), events: [event], appliedAtMs: 0 }
    batches.push(batch)
    hub.publish(batch)
  }
  for (const at of [2, 3, 4]) publish(at)
  await Promise.resolve()
  t.strictSame(sent, ['2'], 'nothing comes before its time')
  t.ok(watcher.isHeld)
  t.equal(watcher.position, 2, 'so that no bookmark says more')
  hub.resumeHeld()
  await Promise.resolve()
  t.strictSame(sent, ['2'], 'it cannot be told still')
  told = Buffer.from('3')
  hub.resumeHeld()
  await Promise.resolve()
  t.strictSame(sent, ['2', '3', '4'])
  t.equal(watcher.state, 'live')
})
