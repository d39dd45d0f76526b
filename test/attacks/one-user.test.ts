/** A user is who the upstream says it is, however credentials are spelled and however many
 *  tokens there are: bounds on what passes, on upgrades and on what open watches keep are for
 *  the user. */

import type { Socket } from 'node:net'
import t from 'tap'
import { defaultFairnessLimits } from '../../lib/cache/http/limits/fairness.ts'
import { type Door, maps, startDoor } from '../support/attacks/door.ts'
import { ask, askOn, connect, openSession } from '../support/attacks/ask.ts'
import { calm, staysCalm, worksAtOnce } from '../support/attacks/works.ts'
import { identity } from '../support/upstream/reviews.ts'
import type { Binding } from '../support/upstream/rules.ts'
import { lacksThreads } from '../support/runner/other-node.ts'
import { patient } from '../support/patience.ts'

const mallory: Binding = {
  subjects: ['mallory'],
  namespace: '',
  rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
}
const tokens = ['m1', 'm2', 'm3']
const users = tokens.map(token => [token, identity('mallory')] as const)

/** The same token in many ways: what upstream reads is the word after the first space. */
const spellings: readonly ((token: string) => string)[] = [
  token => `Bearer ${token}`,
  token => `bearer ${token}`,
  token => `BEARER ${token}`,
  token => `bEARER ${token}`,
  token => `Bearer ${token} `,
  token => ` Bearer ${token}`,
]

/** The status of an upgrade that stays open. */
async function upgrade(door: Door, authorization: string, held: Socket[]): Promise<string> {
  const socket = await connect(door)
  held.push(socket)
  const head = [
    'POST /api/v1/namespaces/default/pods/p/exec?command=cat HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: ${authorization}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
  ].join('\r\n')
  return new Promise(resolve => {
    socket.once('data', (piece: Buffer) => resolve(piece.toString('latin1').slice(9, 12)))
    socket.once('close', () => resolve('closed'))
    socket.write(`${head}\r\n\r\n`)
  })
}

for (const threads of [1, 2]) {
  t.test(
    `spelling credentials in many ways multiplies no bound, with ${threads} threads`,
    { skip: threads > 1 && lacksThreads() },
    async t => {
      const args = [`--threads=${threads}`]
      const door = await startDoor(t, { users, bindings: [mallory], args })
      for (const token of tokens) {
        const headers = { authorization: `Bearer ${token}` }
        t.equal((await ask(door, '1.1', { path: maps, headers })).status, 200)
      }
      const before = await calm(t, door)
      const held: Socket[] = []
      const bound = defaultFairnessLimits.passedPerUser.upgrade
      const counts: Record<string, number> = {}
      for (let i = 0; i < bound + 240 * threads; i += 20) {
        const some = Array.from({ length: 20 }, (_, at) => {
          const spelled = spellings[(i + at) % spellings.length]!
          return upgrade(door, spelled(tokens[(i + at) % tokens.length]!), held)
        })
        for (const status of await Promise.all(some)) counts[status] = (counts[status] ?? 0) + 1
        // Every thread answers for this figure: what it had to say before, it has said.
        if (threads > 1) await door.metric('watchglass_passed_requests_in_flight')
      }
      t.comment(JSON.stringify(counts))
      t.ok((counts['101'] ?? 0) >= bound, 'as many as a user may have')
      // In each thread a sixteenth of the bound may be open for each token before its user's name
      // is asked for, and the last ones come while threads are told of each other's: as many more
      // as the machine is slower.
      const early = threads * ((tokens.length * bound) / 16 + patient(60))
      t.ok((counts['101'] ?? 0) <= bound + early, 'and hardly more')
      t.ok((counts['429'] ?? 0) > 0)
      await worksAtOnce(t, door, 'meanwhile')
      for (const socket of held) socket.destroy()
      await staysCalm(t, door, before)
    },
  )
}

/** Selectors of watches, of which as many may be open as their size tells. */
const long = Array.from({ length: 114 }, (_, i) => `v${i}`.padEnd(62, 'x')).join(',')
const selectors = [
  // Few long values weigh as much as many short ones, and take less to read.
  { what: 'keep', selector: `a in (${long})`, each: long.length + 'a in ()'.length },
  // Each condition is looked at for each change, and no index helps.
  {
    what: 'look at',
    selector: Array.from({ length: 100 }, (_, i) => `!a${i}`).join(','),
    each: 100 * 80,
  },
]

const secure = await startDoor(t, { protocol: 'https', users, bindings: [mallory] })

for (const { what, selector, each } of selectors) {
  t.test(`what open watches ${what} for their selectors is bounded`, async t => {
    const door = secure
    const before = await calm(t, door)
    const path = `${maps}?watch=1&labelSelector=${encodeURIComponent(selector)}`
    const bound = Math.floor(defaultFairnessLimits.selectorBytesPerUser / each)
    const sessions = [openSession(door), openSession(door)]
    const headers = { authorization: 'Bearer m1' }
    for (const session of sessions) {
      t.equal((await askOn(session, { path: maps, headers })).status, 200)
    }
    const statuses: Record<string, number> = {}
    for (let i = 0; i < bound * 1.2; i += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          const session = sessions[at % 2]!
          const stream = session.request({ ':path': path, ...headers })
          stream.on('error', () => {})
          stream.resume()
          const status = await new Promise<string>(resolve => {
            stream.once('response', got => resolve(String(got[':status'])))
            stream.once('close', () => resolve('closed'))
          })
          statuses[status] = (statuses[status] ?? 0) + 1
        }),
      )
    }
    t.comment(JSON.stringify(statuses))
    t.ok((statuses['200'] ?? 0) >= bound && (statuses['200'] ?? 0) <= bound * (1 + 1 / 16) + 20)
    t.ok((statuses['429'] ?? 0) > 0)
    await worksAtOnce(t, door, 'meanwhile')
    for (const session of sessions) session.destroy()
    await staysCalm(t, door, before)
  })
}
