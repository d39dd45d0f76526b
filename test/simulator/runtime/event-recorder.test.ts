import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { ApiClient } from '../../../lib/simulator/runtime/api-client.ts'
import { EventRecorder } from '../../../lib/simulator/runtime/event-recorder.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

interface WrittenEvent {
  readonly reason?: string
  readonly count: number
}

const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j', namespace: 'default', uid: 'u' },
}
const source = { component: 'job-controller' }

t.test('what is told again while it waits is counted, and holds up nothing', async t => {
  const written: WrittenEvent[] = []
  let release: () => void = () => {}
  const held = new Promise<void>(resolve => (release = resolve))
  let ended: () => void = () => {}
  const isWhole = new Promise<void>(resolve => (ended = resolve))
  const api = {
    async createNew({ object }: { readonly object: object }): Promise<Key> {
      await held
      written.push(object as WrittenEvent)
      return keyFromText(`/events/${written.length}`)
    },
    async patchAt(_key: Key, patch: object): Promise<boolean> {
      written.push(patch as WrittenEvent)
      ended()
      return true
    },
  }
  const recorder = new EventRecorder({
    api: () => api as unknown as ApiClient,
    clock: new FakeClock(),
    logger: silentLogger,
    signal: new AbortController().signal,
  })
  const tell = (reason: string): void => recorder.tell(source, job, { reason, message: 'm' })
  tell('BackOff')
  tell('BackOff')
  // The first one is being written from here on.
  await new Promise(resolve => setImmediate(resolve))
  for (let i = 0; i < 5_000; i++) tell('BackOff')
  tell('DeadlineExceeded')
  tell('BackOff')
  release()
  await isWhole
  t.strictSame(
    written.map(({ reason, count }) => [reason, count]),
    [
      ['BackOff', 2],
      [undefined, 5_003],
    ],
  )
  await new Promise(resolve => setImmediate(resolve))
  t.equal(written.at(-1)?.reason, 'DeadlineExceeded', 'it is not lost, and comes next')
})
