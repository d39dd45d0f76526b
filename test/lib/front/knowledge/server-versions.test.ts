import t from 'tap'
import { ServerVersions } from '../../../../lib/front/knowledge/server-versions.ts'

const version = (minor: string, emulationMinor?: string): unknown => ({
  gitVersion: `v1.${minor}.0`,
  minor,
  emulationMinor,
})

function minorsOf({ all }: ServerVersions): number[] {
  return all.map(({ minor }) => minor)
}

t.test('servers that say the same are of one version', async t => {
  const versions = new ServerVersions()
  t.strictSame(minorsOf(versions), [], 'nobody has answered')
  versions.take([version('34+'), version('34+')])
  t.strictSame(minorsOf(versions), [34], 'vendors write a plus')
  t.notOk(versions.isSettled, 'it was asked once')
  for (let i = 0; i < 15; i++) versions.take([version('34+'), undefined])
  t.ok(versions.isSettled, 'who does not answer does not count')
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
  versions.take([version('34'), patch])
  t.strictSame(
    versions.all.map(({ name }) => name),
    ['v1.34.0', 'v1.34.2'],
  )
})

t.test('a server that was away is known by what it says when it is back', async t => {
  const versions = new ServerVersions()
  versions.take([version('34')])
  versions.take([undefined])
  t.strictSame(minorsOf(versions), [])
  versions.take([version('35')])
  t.strictSame(minorsOf(versions), [35])
})

t.test('the version that it behaves as is known, and what is no version is none', async t => {
  const versions = new ServerVersions()
  versions.take([version('35', '34')])
  t.equal(versions.all[0]?.emulatedMinor, 34)
  versions.take([{ minor: 'x' }])
  t.strictSame(minorsOf(versions), [])
})
