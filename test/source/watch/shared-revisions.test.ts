/** Several objects that change at one revision, as the core Events of a lease do that expires: a
 *  revision is taken whole, however the bytes of its events come. */

import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { CacheError } from '../../../lib/base/errors.ts'
import { createRandom } from '../../../lib/base/random.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { ResponseHeader, RevisionChanges } from '../../../lib/etcd/client.ts'
import { defaultWatchLimits } from '../../../lib/source/watch/limits.ts'
import { ResourceWatch } from '../../../lib/source/watch/resource-watch.ts'
import { FakeClock } from '../../support/fake-clock.ts'

type Piece = (piece: Uint8Array) => boolean

interface World {
  readonly clock: FakeClock
  /** The batches that were passed on: their revisions and names. */
  readonly told: string[]
  readonly failures: string[]
  readonly send: (...lines: readonly string[]) => void
}

async function watching(resource: string): Promise<World> {
  const clock = new FakeClock()
  const told: string[] = []
  const failures: string[] = []
  let data: Piece = () => true
  const nameOf = (key: Key): string => Buffer.from(key, 'latin1').toString().split('/').at(-1)!
  const tell = ({ revision, changes }: RevisionChanges): void => {
    const names = changes.map(one => nameOf(one.type === 'put' ? one.entry.key : one.key))
    told.push(`${revision} ${names.join(' ')}`)
  }
  const watch = new ResourceWatch(
    {
      server: {
        watch(_, sink) {
          data = piece => sink.data(piece)
          sink.started()
          return { resume: () => undefined, cancel: () => undefined }
        },
      },
      resource: {
        keyspace: keyFromText(`/registry/${resource}/`),
        namespace: '',
        name: resource,
        root: '/api/v1',
        resource,
        isNamespaced: true,
        apiVersion: 'v1',
        kind: 'Event',
        encoding: 'json',
      },
      clock,
      random: createRandom(1),
      limits: defaultWatchLimits,
      header: async () => ({ clusterId: 1n, memberId: 1n, raftTerm: 1n }),
      onProof: () => undefined,
      signal: new AbortController().signal,
    },
    { range: { start: '' as Key, end: undefined }, startRevision: 10 as Revision } as never,
    {
      created: () => undefined,
      changed: (batches: readonly RevisionChanges[]) => batches.forEach(tell),
      progress: (header: ResponseHeader) => told.push(`progress ${header.revision}`),
      ended: (failure: CacheError) => failures.push(failure.code),
    } as never,
  )
  await watch.begin()
  await clock.advance(0)
  return {
    clock,
    told,
    failures,
    send: (...lines) => void data(Buffer.from(lines.map(line => `${line}\n`).join(''))),
  }
}

function line(type: string, name: string, resourceVersion: number): string {
  const metadata = { name, namespace: 'default', resourceVersion: String(resourceVersion) }
  const object = { kind: 'Event', apiVersion: 'v1', metadata }
  return JSON.stringify({ type, object })
}

const gone = (name: string, at: number): string => line('DELETED', name, at)

t.test('changes of one revision that come together are one batch', async t => {
  const { told, failures, send } = await watching('configmaps')
  send(line('ADDED', 'x', 11), gone('a', 12), gone('b', 12), gone('c', 13))
  t.strictSame(told, ['11 x', '12 a b', '13 c'])
  send(gone('c', 13))
  t.strictSame(told.length, 3, 'what another watch brings again is known')
  t.strictSame(failures, [])
})

t.test('a further change of a revision that was passed on has the range read again', async t => {
  const { told, failures, send } = await watching('configmaps')
  send(gone('a', 12))
  send(gone('b', 12))
  t.strictSame(told, ['12 a'])
  t.strictSame(failures, ['expired'])
})

t.test('deletions of core Events wait for the rest of their revision', async t => {
  const { clock, told, failures, send } = await watching('events')
  send(line('ADDED', 'x', 11), gone('a', 12), gone('b', 12))
  t.strictSame(told, ['11 x'])
  await clock.advance(90)
  send(gone('c', 12))
  await clock.advance(90)
  send(gone('d', 12), line('ADDED', 'y', 13))
  t.strictSame(told, ['11 x', '12 a b c d', '13 y'])
  send(gone('e', 14))
  await clock.advance(99)
  t.equal(told.length, 3)
  await clock.advance(1)
  t.equal(told.at(-1), '14 e')
  t.strictSame(failures, [])
})
