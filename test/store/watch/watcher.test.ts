import t from 'tap'
import { revision } from '../../../lib/base/revision.ts'
import type { Batch } from '../../../lib/store/event.ts'
import type { Audience } from '../../../lib/store/watch/audience.ts'
import { Watcher } from '../../../lib/store/watch/watcher.ts'

t.test('a history that goes back ends the process, and no watcher is told twice', async t => {
  const audience = { frameOf: () => undefined } as unknown as Audience<Watcher>
  const old: Batch = { revision: revision(3), events: [], appliedAtMs: 0 }
  const history = { revision: revision(9), oldest: revision(0), next: () => old }
  const sink = { write: () => true, expired: () => {}, inexact: () => {} }
  const watcher = new Watcher(audience, history, sink, revision(5))
  t.throws(() => watcher.catchUp(1), { name: 'AssertionError', message: /never goes back/ })
})
