/** Checks the program after an attack: the administrator's requests work at once, memory is freed,
 *  and no slot is held. */

import * as http from 'node:http'
import * as https from 'node:https'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { configMap } from '../upstream/proxied.ts'
import { admin, type Door, maps } from './door.ts'
import { ask, askRaw, openSession, type Version, versions } from './ask.ts'
import { patient } from '../patience.ts'

/** So soon everything is answered: whoever waits for a time limit of ours waits longer. */
const atOnceMs = 10_000
/** The bound of memory after an attack, of that in use before: a fifth more. */
const memoryShare = 1.2

/** The holdings of a program before an attack. */
export interface Calm {
  readonly bytes: number
  readonly held: Readonly<Record<string, number>>
}

/** Nothing of these may be held when nothing is under way. */
const heldMetrics = [
  'watchglass_passed_requests_in_flight',
  'watchglass_access_reviews_in_flight',
  'watchglass_watches',
  'watchglass_requests_in_flight',
] as const

let count = 0

/** Warms everything up that the checks use, and says what is held then. */
export async function calm(t: Test, door: Door): Promise<Calm> {
  await worksAtOnce(t, door, 'before')
  return { held: await settled(door), bytes: await door.memory() }
}

/** Everything works at once, and nothing is held that was not held before. */
export async function staysCalm(t: Test, door: Door, before: Calm): Promise<void> {
  await worksAtOnce(t, door, 'after')
  t.strictSame(await settled(door), before.held, 'nothing is held')
  let bytes = await door.memory()
  for (let i = 0; i < 20 && bytes > before.bytes * memoryShare; i++) {
    await new Promise(resolve => setTimeout(resolve, 250))
    bytes = await door.memory()
  }
  const mib = (value: number): string => (value / 1024 ** 2).toFixed(1)
  t.ok(
    bytes <= before.bytes * memoryShare,
    `memory is back: ${mib(bytes)} MiB, before ${mib(before.bytes)}`,
  )
}

/** The holdings once all answers are over. */
async function settled(door: Door): Promise<Record<string, number>> {
  let now = await held(door)
  for (let i = 0; i < 50 && Object.values(now).some(value => value > 0); i++) {
    await new Promise(resolve => setTimeout(resolve, 100))
    now = await held(door)
  }
  return now
}

async function held(door: Door): Promise<Record<string, number>> {
  const now: Record<string, number> = {}
  for (const name of heldMetrics) now[name] = await door.metric(name)
  return now
}

/** The administrator's get, list, watch, upgrade and write. */
export async function worksAtOnce(t: Test, door: Door, when: string): Promise<void> {
  const startMs = performance.now()
  for (const version of versions) {
    const got = await ask(door, version, { path: `${maps}/a`, headers: admin })
    t.equal(got.status, 200, `${when}: a get over HTTP/${version}`)
    const list = await ask(door, version, { path: maps, headers: admin })
    t.equal(list.status, 200, `${when}: a list over HTTP/${version}`)
    const name = `made-${++count}`
    const seen = watched(door, version, name)
    const written = await ask(door, version, {
      method: 'POST',
      path: maps,
      headers: { ...admin, 'content-type': 'application/json' },
      body: JSON.stringify(configMap(name, 'x')),
    })
    t.equal(written.status, 201, `${when}: a write over HTTP/${version}`)
    t.ok(await seen, `${when}: a watch over HTTP/${version} tells of it`)
    const path = `${maps}/${name}`
    const gone = await ask(door, version, { method: 'DELETE', path, headers: admin })
    t.equal(gone.status, 200, `${when}: and of its end`)
  }
  const head = [
    'POST /api/v1/namespaces/default/pods/p/exec?command=cat HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: ${admin.authorization}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
  ].join('\r\n')
  const said = await askRaw(door, `${head}\r\n\r\nhello`, text => text.endsWith('hello'))
  t.match(said, /^HTTP\/1\.1 101 .*hello$/s, `${when}: an upgrade`)
  const tookMs = performance.now() - startMs
  t.ok(tookMs < patient(atOnceMs), `${when}: at once, in ${Math.round(tookMs)} ms`)
}

/** Resolves when a watch tells of an object; false if it ends before. */
async function watched(door: Door, version: Version, name: string): Promise<boolean> {
  const path = `${maps}?watch=1&timeoutSeconds=20`
  const { body, close } = await (version === '2' ? stream2 : stream1)(door, path)
  let text = ''
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      text += piece.toString()
      if (text.includes(`"${name}"`)) return true
    }
    return false
  } finally {
    close()
  }
}

interface Stream {
  readonly body: Readable
  readonly close: () => void
}

function stream1({ protocol, port }: Door, path: string): Promise<Stream> {
  const options = { host: '127.0.0.1', port, path, headers: admin, agent: false as const }
  return new Promise((resolve, reject) => {
    const take = (body: http.IncomingMessage): void =>
      resolve({ body, close: () => void sent.destroy() })
    const sent =
      protocol === 'http'
        ? http.get(options, take)
        : https.get({ ...options, rejectUnauthorized: false }, take)
    sent.on('error', reject)
  })
}

async function stream2(door: Door, path: string): Promise<Stream> {
  const session = openSession(door)
  const body = session.request({ ':path': path, ...admin })
  return { body, close: () => session.destroy() }
}
