import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import type { Heard } from '../../../lib/proxy/upstream/ask.ts'
import { ServerVersions } from '../../../lib/proxy/knowledge/server-versions.ts'

const says = (document: unknown): Heard => ({ type: 'document', document })
const version = (minor: string, emulationMinor?: string): Heard =>
  says({ gitVersion: `v1.${minor}.0`, minor, emulationMinor })
const error = new CacheError('upstream_failed', 'x')
const gone: Heard = { type: 'unanswered', isGone: true, error }
const busy: Heard = { type: 'unanswered', isGone: false, error }

function minorsOf({ all }: ServerVersions): number[] {
  return all.map(({ minor }) => minor)
}

t.test('servers that say the same are of one version', async t => {
  const versions = new ServerVersions()
  t.strictSame(minorsOf(versions), [], 'nobody has answered')
  versions.take([version('34+'), version('34+')])
  t.strictSame(minorsOf(versions), [34], 'vendors write a plus')
  t.notOk(versions.isSettled, 'it was asked once')
  for (let i = 0; i < 15; i++) versions.take([version('34+'), gone])
  t.ok(versions.isSettled, 'who is gone does not count')
})

t.test('every version among the last answers counts, oldest first', async t => {
  const versions = new ServerVersions()
  versions.take([version('35')])
  versions.take([version('34')])
  t.strictSame(minorsOf(versions), [34, 35])
  for (let i = 0; i < 14; i++) {
    versions.take([version('35')])
    t.strictSame(minorsOf(versions), [34, 35])
    t.notOk(versions.isSettled)
  }
  versions.take([version('35')])
  t.strictSame(minorsOf(versions), [34, 35], 'one of the last sixteen said so')
  versions.take([version('35')])
  t.strictSame(minorsOf(versions), [35])
  t.ok(versions.isSettled)
})

t.test('patch versions are told apart', async t => {
  const versions = new ServerVersions()
  const patch = { gitVersion: 'v1.34.2', minor: '34' }
  versions.take([version('34'), says(patch)])
  t.strictSame(
    versions.all.map(({ name }) => name),
    ['v1.34.0', 'v1.34.2'],
  )
})

interface Case {
  readonly what: string
  readonly before: readonly Heard[]
  readonly next: readonly Heard[]
  readonly minors: readonly number[]
}

const cases: readonly Case[] = [
  { what: 'busy', before: [version('34')], next: [busy], minors: [34] },
  { what: 'gone', before: [version('34')], next: [gone], minors: [34] },
  { what: 'another version', before: [version('34')], next: [version('35')], minors: [34, 35] },
  { what: 'no version', before: [version('34')], next: [{ type: 'none' }], minors: [] },
  { what: 'what is no version', before: [version('34')], next: [says({})], minors: [] },
  {
    what: 'one of two is busy, and goes on answering others',
    before: [version('34'), version('35')],
    next: [version('34'), busy],
    minors: [34, 35],
  },
  {
    what: 'one of two is gone: nobody gets its answers',
    before: [version('34'), version('35')],
    next: [version('34'), gone],
    minors: [34],
  },
  {
    what: 'both are gone',
    before: [version('34'), version('35')],
    next: [gone, gone],
    minors: [34, 35],
  },
  {
    what: 'one is gone, the other busy',
    before: [version('34'), version('35')],
    next: [busy, gone],
    minors: [34, 35],
  },
]

for (const { what, before, next, minors } of cases) {
  t.test(`versions that are known, and then: ${what}`, async t => {
    const versions = new ServerVersions()
    versions.take(before)
    for (let i = 0; i < 3; i++) versions.take(next)
    t.strictSame(minorsOf(versions), minors)
  })
}

t.test('the version that it behaves as is known, and what is no version is none', async t => {
  const versions = new ServerVersions()
  versions.take([version('35', '34')])
  t.equal(versions.all[0]?.emulatedMinor, 34)
  versions.take([says({ minor: 'x' })])
  t.strictSame(minorsOf(versions), [])
})
