import t from 'tap'
import { golden } from './load.ts'
import { replayWrites } from './write-replay.ts'

/** The recorded requests that are answered differently here, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-0110': 'the lines that differ between two prints of internal structs, after the message',
  'pub-0114': 'a token of the recorded server',
  'pub-0115': 'a review of a user by the roles of the recorded server',
  'pub-0116': 'a user of the recorded server',
  'pub-0145': 'a user who may not do this, which is up to authorization',
  'pub-0146': 'a user who may not do this, which is up to authorization',
}

const asked = golden.exchanges().filter(({ area }) => area === 'write')

t.test('a kube-apiserver and we do every recorded write alike, byte for byte', async t => {
  const table = await replayWrites(t, { recording: golden, asked, exceptions })
  t.equal(table.total('excepted'), Object.keys(exceptions).length, 'each exception is still one')
  t.ok(table.total('excepted') <= asked.length * 0.06, 'exceptions are at most 6 %')
})
