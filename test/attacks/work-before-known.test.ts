/** Callers who are not known cost next to nothing, and hold up nobody who is: long selectors,
 *  made-up tokens, credentials that are spelled in many ways, Accept headers that are hard to
 *  read, requests without end. */

import type * as http2 from 'node:http2'
import t from 'tap'
import { admin, type Door, maps, startDoor } from '../support/attacks/door.ts'
import { ask, askOn, askRaw, openSession, versions } from '../support/attacks/ask.ts'
import { calm, staysCalm } from '../support/attacks/works.ts'

/** Sends requests as streams of a few connections; how often each status came. */
async function flood(
  door: Door,
  count: number,
  requestAt: (i: number) => { path: string; headers: Record<string, string> },
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const sessions = new Map<number, http2.ClientHttp2Session>()
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const at = i % 20
      let session = sessions.get(at)
      if (session === undefined || session.closed || session.destroyed) {
        sessions.set(at, (session = openSession(door)))
      }
      const answer = await askOn(session, requestAt(i)).catch(() => ({ status: 0 }))
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }),
  )
  for (const session of sessions.values()) session.destroy()
  return statuses
}

t.test('made-up tokens and long selectors hold up nobody', async t => {
  const door = await startDoor(t, { protocol: 'https' })
  const before = await calm(t, door)
  const junk = flood(door, 1_000, i => ({
    path: maps,
    headers: { authorization: `Bearer junk-${i}` },
  }))
  await new Promise(resolve => setTimeout(resolve, 50))
  const slow: number[] = []
  for (let i = 0; i < 20; i++) {
    const startMs = performance.now()
    const { status } = await ask(door, '1.1', { path: `${maps}/a`, headers: admin })
    t.equal(status, 200, 'the administrator is answered')
    slow.push(performance.now() - startMs)
  }
  t.comment(`a get took ${Math.round(Math.max(...slow))} ms at most`)
  const statuses = await junk
  t.ok(!statuses.has(200) && !statuses.has(500), JSON.stringify([...statuses]))

  const selector = Array.from({ length: 6_000 }, (_, i) => `k${i}`).join(',')
  const long = `${maps}?labelSelector=${selector}`
  await flood(door, 40, i => ({
    path: long,
    headers: { authorization: i % 2 === 0 ? `Bearer junk-${i}` : admin.authorization },
  }))
  const passed = await ask(door, '1.1', { path: long, headers: admin })
  t.match(passed.headers['x-watchglass'], /pass; reason=parameter/, 'it passes as it is')
  const many = `${maps}?labelSelector=${'a,'.repeat(100)}a`
  const more = await ask(door, '1.1', { path: many, headers: admin })
  t.match(more.headers['x-watchglass'], /pass; reason=parameter/)
  await staysCalm(t, door, before)
})

const plain = await startDoor(t)

t.test('Accept headers that are hard to read hold up nobody', async t => {
  const door = plain
  const before = await calm(t, door)
  const size = 60_000
  const hard = [
    `application/json;q=${'1'.repeat(size)}x`,
    `application/json${' '.repeat(size)}x`,
    'a/b;q=0.1,a/b;q=0.2,'.repeat(size / 20),
    `${'*,'.repeat(size / 2)}application/json`,
  ]
  for (const headers of hard.map(accept => ({ accept }))) {
    const all = versions.flatMap(version =>
      Array.from({ length: 4 }, () => ask(door, version, { path: maps, headers })),
    )
    for (const { status } of await Promise.all(all)) t.equal(status, 403)
    const passed = await ask(door, '1.1', { path: maps, headers: { ...headers, ...admin } })
    t.equal(passed.headers['x-watchglass'], 'pass; reason=media-type')
  }
  await staysCalm(t, door, before)
})

t.test('requests that a client sends without reading an answer hold up nobody', async t => {
  const door = plain
  const before = await calm(t, door)
  const requests = `GET ${maps} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(2_000)
  const answers = await Promise.all(Array.from({ length: 16 }, () => askRaw(door, requests)))
  for (const text of answers) {
    const count = text.split('HTTP/1.1 403 ').length - 1
    t.ok(count <= 100, `${count} are answered before the connection is closed`)
  }
  const few = `GET ${maps} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(50)
  const all = await askRaw(door, few, text => text.split('HTTP/1.1 403 ').length > 50)
  t.equal(all.split('HTTP/1.1 403 ').length - 1, 50, 'fifty are answered')
  await staysCalm(t, door, before)
})
