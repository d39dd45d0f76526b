import t from 'tap'
import { ServerVersions } from '../../../../lib/upstream/knowledge/server-versions.ts'

const version = (minor: string, emulationMinor?: string): unknown => ({
  gitVersion: `v1.${minor}.0`,
  minor,
  emulationMinor,
})

t.test('servers that say the same agree', async t => {
  const versions = new ServerVersions()
  t.equal(versions.agreed, undefined)
  t.notOk(versions.differ, 'nobody has answered')
  versions.take([version('34+'), version('34+')])
  t.equal(versions.agreed?.minor, 34, 'vendors write a plus')
  t.notOk(versions.isSettled, 'it was asked once')
  for (let i = 0; i < 7; i++) versions.take([version('34+'), undefined])
  t.ok(versions.isSettled, 'who does not answer does not count')
})

t.test(
  'one that says something else is believed when all of the last answers are alike',
  async t => {
    const versions = new ServerVersions()
    versions.take([version('34')])
    for (let i = 0; i < 7; i++) {
      versions.take([version('35')])
      t.ok(versions.differ)
      t.equal(versions.agreed, undefined)
    }
    versions.take([version('35')])
    t.equal(versions.agreed?.minor, 35)
  },
)

t.test('a server that was away is known by what it says when it is back', async t => {
  const versions = new ServerVersions()
  versions.take([version('34')])
  versions.take([undefined])
  t.equal(versions.agreed, undefined)
  versions.take([version('35')])
  t.equal(versions.agreed?.minor, 35)
})

t.test('the version that it behaves as is known, and what is no version is none', async t => {
  const versions = new ServerVersions()
  versions.take([version('35', '34')])
  t.equal(versions.agreed?.emulatedMinor, 34)
  versions.take([{ minor: 'x' }])
  t.equal(versions.agreed, undefined)
})
