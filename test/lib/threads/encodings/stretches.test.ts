import t from 'tap'
import type { Key } from '../../../../lib/base/keys.ts'
import {
  type Stretch,
  Stretches,
  type StretchMessage,
  type StretchRoute,
  StretchRouter,
} from '../../../../lib/threads/encodings/stretches.ts'

const stretch: Stretch = {
  keyspace: '/r/pods/' as Key,
  resource: { group: '', version: 'v1', resource: 'pods' },
  shown: { encoding: 'json', rendering: 'object', renderingVersion: 'v1' },
  start: '/r/pods/a' as Key,
  end: '/r/pods/b' as Key,
}

interface FakeThread {
  readonly stretches: Stretches
  readonly route: StretchRoute
  /** What it was asked to encode, and how to say that it has. */
  readonly asked: (() => void)[]
  /** Why a stretch could not be encoded. */
  readonly faults: unknown[]
}

function createThread(router: StretchRouter): FakeThread {
  const asked: (() => void)[] = []
  const stretches: Stretches = new Stretches(message => route.take(message))
  const faults: unknown[] = []
  stretches.onAsked(
    () => new Promise(resolve => asked.push(resolve)),
    error => faults.push(error),
  )
  const route = router.attach((message: StretchMessage) => stretches.take(message))
  return { stretches, route, asked, faults }
}

/** Promises that are due. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test(
  'stretches go to whichever other thread has been asked least, one after the other',
  async t => {
    const router = new StretchRouter()
    const [asker, one, two] = [0, 1, 2].map(() => createThread(router)) as [
      FakeThread,
      FakeThread,
      FakeThread,
    ]
    let done = 0
    for (let i = 0; i < 4; i++) void asker.stretches.ask(stretch).then(() => done++)
    await turn()
    t.same([asker.asked.length, one.asked.length, two.asked.length], [0, 1, 1])
    one.asked[0]!()
    await turn()
    t.equal(done, 1)
    t.equal(one.asked.length, 2, 'the second, once the first is done')
    two.asked[0]!()
    await turn()
    one.asked[1]!()
    two.asked[1]!()
    await turn()
    t.equal(done, 4)
  },
)

t.test('what a dead thread was asked is done, and nobody alone waits', async t => {
  const router = new StretchRouter()
  const asker = createThread(router)
  await asker.stretches.ask(stretch)
  const other = createThread(router)
  const asked = asker.stretches.ask(stretch)
  await turn()
  t.equal(other.asked.length, 1)
  other.route.end()
  await asked
  const third = createThread(router)
  void asker.stretches.ask(stretch)
  await turn()
  asker.route.end()
  third.asked[0]!()
  await turn()
  t.equal(other.asked.length, 1, 'a dead thread is asked nothing')
})

t.test(
  'a stretch that cannot be encoded is done and said, and the next one is encoded',
  async t => {
    const router = new StretchRouter()
    const asker = createThread(router)
    const { stretches, asked, faults } = createThread(router)
    const fault = new Error('no such leaf')
    const onFault = (error: unknown): void => void faults.push(error)
    stretches.onAsked(() => Promise.reject(fault), onFault)
    await asker.stretches.ask(stretch)
    t.same(faults, [fault])
    stretches.onAsked(async () => void asked.push(() => {}), onFault)
    await asker.stretches.ask(stretch)
    t.equal(asked.length, 1)
    t.same(faults, [fault])
  },
)
