/** A separate process with the informers of many clients: each client is a connection over HTTP/2,
 *  with an informer for each resource that begins as those of client-go do since 1.35, with a
 *  streaming list without a resourceVersion. Objects come in protobuf. Nothing of them is read but
 *  the end of the initial events, and the stamps of writes. */

import type { ClientHttp2Session } from 'node:http2'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerOrders } from '../watch/child.ts'
import { Lags } from '../watch/lags.ts'
import { authorization, connectTo } from './api-client.ts'
import {
  type InformersOrder,
  type LagsReport,
  nowMicroseconds,
  stampDigits,
  stampMark,
  type SyncedReport,
} from './orders.ts'

const protobuf = 'application/vnd.kubernetes.protobuf'
const query =
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=3600'
/** Pause before an informer begins again. */
const pauseMs = 300

const sessions: ClientHttp2Session[] = []
const lags = new Lags()
let events = 0
let maxMs = 0
let ended = 0

answerOrders<InformersOrder>(order => {
  switch (order.type) {
    case 'start':
      return start(order)
    case 'warm':
      return warm(order)
    case 'forget':
      return forget()
    case 'report':
      return report()
    case 'stop':
      return endSessions()
  }
})

async function start({
  url,
  token,
  clients,
  paths,
}: InformersOrder & { readonly type: 'start' }): Promise<SyncedReport> {
  const began = performance.now()
  const synced: Promise<Answered>[] = []
  for (let i = 0; i < clients; i++) {
    const session = keptOpen(url)
    for (const path of paths) synced.push(untilAnswered(session, token, path, ['mirror', 'other']))
  }
  const mirrored = (await Promise.all(synced)).filter(by => by === 'mirror').length
  return { seconds: (performance.now() - began) / 1000, mirrored }
}

/** One informer of each resource, again until the mirror answers it. */
async function warm({
  url,
  token,
  paths,
}: InformersOrder & { readonly type: 'warm' }): Promise<SyncedReport> {
  const began = performance.now()
  const session = keptOpen(url)
  await Promise.all(paths.map(path => untilAnswered(session, token, path, ['mirror'])))
  endSessions()
  return { seconds: (performance.now() - began) / 1000, mirrored: paths.length }
}

/** A session of a client, which is another one once the server has ended it. */
function keptOpen(url: string): () => ClientHttp2Session {
  let session = openSession(url)
  return () => {
    if (session.closed || session.destroyed) session = openSession(url)
    return session
  }
}

function openSession(url: string): ClientHttp2Session {
  const session = connectTo(url)
  session.on('error', () => ended++)
  sessions.push(session)
  return session
}

function endSessions(): void {
  for (const session of sessions.splice(0)) session.destroy()
}

/** Whoever has sent the initial events; nobody, if the request was refused or broke off. */
type Answered = 'mirror' | 'other' | 'nobody'

/** Informs, and again after a pause until one of these has sent all initial events. */
async function untilAnswered(
  session: () => ClientHttp2Session,
  token: string,
  path: string,
  wanted: readonly Answered[],
): Promise<Answered> {
  for (;;) {
    const { synced, close } = inform(session(), token, path)
    const by = await synced
    if (wanted.includes(by)) return by
    close()
    await sleep(pauseMs)
  }
}

interface Informer {
  /** Resolves at the end of the initial events. */
  readonly synced: Promise<Answered>
  readonly close: () => void
}

function inform(session: ClientHttp2Session, token: string, path: string): Informer {
  const headers = { ':path': `${path}?${query}`, accept: protobuf, ...authorization(token) }
  const stream = session.request(headers)
  let isClosed = false
  const synced = new Promise<Answered>(resolve => {
    let isMirrored = false
    let isSynced = false
    const frames = new FrameSplitter(frame => {
      if (isSynced) note(frame)
      else if (isEndOfInitialEvents(frame)) {
        isSynced = true
        resolve(isMirrored ? 'mirror' : 'other')
      }
    })
    stream.on('response', answer => {
      isMirrored = String(answer['x-watchglass']).startsWith('mirror')
      if (answer[':status'] !== 200) resolve('nobody')
    })
    stream.on('data', (piece: Buffer) => frames.take(piece))
    stream.on('error', () => {})
    stream.on('close', () => {
      resolve('nobody')
      if (isSynced && !isClosed) ended++
    })
  })
  const close = (): void => {
    isClosed = true
    stream.close()
  }
  return { synced, close }
}

function note(frame: Buffer): void {
  const at = frame.indexOf(stampMark, 0, 'latin1')
  if (at < 0) return
  const from = at + stampMark.length
  const lagMs =
    (nowMicroseconds() - Number(frame.toString('latin1', from, from + stampDigits))) / 1000
  events++
  maxMs = Math.max(maxMs, lagMs)
  lags.note(lagMs)
}

function forget(): void {
  lags.clear()
  events = 0
  maxMs = 0
}

function report(): LagsReport {
  return {
    events,
    p50Ms: lags.percentileMs(0.5),
    p99Ms: lags.percentileMs(0.99),
    maxMs,
    ended,
  }
}

const bookmark = Buffer.from('\n\bBOOKMARK', 'latin1')

/** Reads a WatchEvent, whose first field is its type. */
function isEndOfInitialEvents(frame: Buffer): boolean {
  return (
    frame.subarray(0, bookmark.length).equals(bookmark) &&
    frame.includes('k8s.io/initial-events-end', 0, 'latin1')
  )
}

const lengthBytes = 4

/** Splits a stream into its frames, each after its length. */
class FrameSplitter {
  readonly #take: (frame: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)

  constructor(take: (frame: Buffer) => void) {
    this.#take = take
  }

  take(piece: Buffer): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let at = 0
    while (at + lengthBytes <= bytes.length) {
      const end = at + lengthBytes + bytes.readUInt32BE(at)
      if (end > bytes.length) break
      this.#take(bytes.subarray(at + lengthBytes, end))
      at = end
    }
    this.#rest = bytes.subarray(at)
  }
}
