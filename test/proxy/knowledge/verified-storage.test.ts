/** Whether keyspaces are answered from, by what checks of them have found. */

import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { StorageFinding } from '../../../lib/proxy/knowledge/storage-check.ts'
import { VerifiedStorage } from '../../../lib/proxy/knowledge/verified-storage.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const pods = keyFromText('/registry/pods/')
const leases = keyFromText('/registry/leases/')

const proven: StorageFinding = { type: 'proven' }
const differs: StorageFinding = { type: 'differs' }

function empty(sharedAt?: number): StorageFinding {
  return { type: 'empty', sharedAt: sharedAt === undefined ? undefined : revision(sharedAt) }
}

interface Case {
  readonly what: string
  /** Results of the checks of leases, one after the other. */
  readonly findings: readonly (StorageFinding | 'changed')[]
  readonly pods?: StorageFinding
  readonly isPlaceKnown?: boolean
  /** The state after each. */
  readonly states: readonly string[]
}

const cases: readonly Case[] = [
  {
    what: 'one revision may be that of another etcd by chance',
    findings: [empty(7), empty(7)],
    states: ['empty', 'empty'],
  },
  {
    what: 'two revisions are not',
    findings: [empty(7), empty(9), empty(9)],
    states: ['empty', 'shared', 'shared'],
  },
  {
    what: 'what was of another etcd in between begins again',
    findings: [empty(7), empty(), empty(9), empty(10)],
    states: ['empty', 'empty', 'empty', 'shared'],
  },
  {
    what: 'a list of another etcd ends it',
    findings: [empty(7), empty(9), empty()],
    states: ['empty', 'shared', 'empty'],
  },
  {
    what: 'nothing has shown the prefix',
    findings: [empty(7), empty(9)],
    pods: differs,
    states: ['empty', 'empty'],
  },
  {
    what: 'the place under the prefix is not known of that version',
    findings: [empty(7), empty(9)],
    isPlaceKnown: false,
    states: ['empty', 'empty'],
  },
  {
    what: 'what has lost its objects was seen to be ours by them',
    findings: [proven, empty(7)],
    states: ['proven', 'shared'],
  },
  {
    what: 'what has lost its objects, in another etcd',
    findings: [proven, empty()],
    states: ['proven', 'empty'],
  },
  {
    what: 'a first object is checked at once',
    findings: [empty(7), empty(9), 'changed', proven],
    states: ['empty', 'shared', 'shared', 'proven'],
  },
  {
    what: 'a first object that only one side has',
    findings: [empty(7), empty(9), 'changed', differs],
    states: ['empty', 'shared', 'shared', 'differs'],
  },
]

for (const { what, findings, pods: podsAre = proven, isPlaceKnown = true, states } of cases) {
  t.test(what, async t => {
    const clock = new FakeClock()
    const left = findings.filter(finding => finding !== 'changed')
    let checks = 0
    const storage = new VerifiedStorage({
      clock,
      random: createRandom(1),
      logger: silentLogger,
      wanted: () => new Map([resourceAt(pods), resourceAt(leases)]),
      isPlaceKnown: () => isPlaceKnown,
      async checkStorage({ resource }) {
        if (resource === String(pods)) return podsAre
        checks++
        return left.shift() ?? differs
      },
    })
    t.teardown(() => storage.stop())
    storage.look()
    for (const [at, finding] of findings.entries()) {
      const before = checks
      if (finding === 'changed') storage.changed(leases)
      // Ten minutes is the longest pause between two checks.
      else for (let i = 0; i < 6_100 && checks === before; i++) await passed(clock, 100)
      t.equal(storage.stateOf(leases), states[at], `after ${at + 1}`)
      const isAnswered = states[at] === 'proven' || states[at] === 'shared'
      t.equal(storage.isAnswered(leases), isAnswered)
      if (finding !== 'changed') continue
      await passed(clock, 1)
      t.equal(checks, before + 1, 'without a pause')
      break
    }
    if (findings.includes('changed')) t.equal(storage.stateOf(leases), states.at(-1))
  })
}

function resourceAt(keyspace: Key): [Key, Resource] {
  const resource = { group: '', resource: String(keyspace) }
  return [keyspace, resource as unknown as Resource]
}

async function passed(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms)
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
