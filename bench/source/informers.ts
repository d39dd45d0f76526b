/** A separate process with the informers of many clients: each client is a connection over HTTP/2,
 *  with an informer for each resource that begins as those of client-go do since 1.35, with a
 *  streaming list without a resourceVersion, and goes on from the last revision when its watch
 *  ends. Objects come in protobuf. Nothing of them is read but the end of the initial events, the
 *  stamps of writes, and the revision at which a watch goes on. */

import type { ClientHttp2Session } from 'node:http2'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { WireReader } from '@watchglass/base'
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
const watching = 'watch=1&allowWatchBookmarks=true&timeoutSeconds=3600'
const withInitialEvents = `${watching}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`
/** Pause before an informer begins again. */
const pauseMs = 300

const sessions: ClientHttp2Session[] = []
/** Those that we have ended. */
const stopped = new WeakSet<ClientHttp2Session>()
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
  for (const session of sessions.splice(0)) {
    stopped.add(session)
    session.destroy()
  }
}

function isStopped(session: ClientHttp2Session): boolean {
  return stopped.has(session)
}

/** Whoever has sent the initial events; nobody, if the request was refused or broke off. */
type Answered = 'mirror' | 'other' | 'nobody'

/** Informs, and again after a pause until one of these has sent all initial events. Then the
 *  informer goes on until its session is ended. */
async function untilAnswered(
  session: () => ClientHttp2Session,
  token: string,
  path: string,
  wanted: readonly Answered[],
): Promise<Answered> {
  for (;;) {
    const informer = inform(session(), token, `${path}?${withInitialEvents}`)
    const by = await informer.synced
    if (wanted.includes(by)) {
      void goOn(informer, session, token, path)
      return by
    }
    informer.close()
    await sleep(pauseMs)
  }
}

/** Follows a resource after its initial events: kube-apiserver ends a watch whose client it serves
 *  too slowly, and a reflector goes on from the last revision, or lists again if that is too
 *  old. */
async function goOn(
  first: Informer,
  session: () => ClientHttp2Session,
  token: string,
  path: string,
): Promise<void> {
  let informer = first
  let revision = (await first.ended) ?? ''
  for (;;) {
    if (isStopped(informer.session)) return
    ended++
    await sleep(pauseMs)
    if (isStopped(informer.session)) return
    const query = revision === '' ? withInitialEvents : `${watching}&resourceVersion=${revision}`
    informer = inform(session(), token, `${path}?${query}`, revision !== '')
    revision = (await informer.ended) ?? revision
  }
}

interface Informer {
  readonly session: ClientHttp2Session
  /** Resolves at the end of the initial events. */
  readonly synced: Promise<Answered>
  /** The last revision that came on it: undefined if nothing came, and '' if it is too old. */
  readonly ended: Promise<string | undefined>
  readonly close: () => void
}

/** `isFollowing`: it has no initial events. */
function inform(
  session: ClientHttp2Session,
  token: string,
  path: string,
  isFollowing = false,
): Informer {
  const headers = { ':path': path, accept: protobuf, ...authorization(token) }
  const stream = session.request(headers)
  let isSynced = isFollowing
  let last: Buffer | undefined
  let isTooOld = false
  const ended = new Promise<string | undefined>(resolve => {
    stream.on('close', () => resolve(isTooOld ? '' : last && revisionOf(last)))
  })
  const synced = new Promise<Answered>(resolve => {
    let isMirrored = false
    const frames = new FrameSplitter(frame => {
      if (isErrorEvent(frame)) isTooOld = true
      else last = frame
      if (isSynced) note(frame)
      else if (isEndOfInitialEvents(frame)) {
        isSynced = true
        resolve(isMirrored ? 'mirror' : 'other')
      }
    })
    stream.on('response', answer => {
      isMirrored = String(answer['x-watchglass']).startsWith('mirror')
      isTooOld = answer[':status'] === 410
      if (answer[':status'] !== 200) resolve('nobody')
    })
    stream.on('data', (piece: Buffer) => frames.take(piece))
    stream.on('error', () => {})
    stream.on('close', () => resolve('nobody'))
  })
  return { session, synced, ended, close: () => stream.close() }
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
const errorEvent = Buffer.from('\n\u0005ERROR', 'latin1')

function isErrorEvent(frame: Buffer): boolean {
  return frame.subarray(0, errorEvent.length).equals(errorEvent)
}

/** The fields that lead from a WatchEvent to the resourceVersion of its object: its object, the raw
 *  bytes of that, of the Unknown after a mark of four bytes the raw bytes, metadata, the text. */
const revisionPath: readonly { readonly field: number; readonly markBytes?: number }[] = [
  { field: 2 },
  { field: 1 },
  { field: 2, markBytes: 4 },
  { field: 1 },
  { field: 6 },
]

/** None if there is none. */
function revisionOf(frame: Buffer): string {
  const reader = new WireReader()
  let [start, end] = [0, frame.length]
  for (const { field, markBytes = 0 } of revisionPath) {
    reader.reset(frame, start + markBytes, end)
    while (reader.nextField() && reader.field !== field) reader.skip()
    if (reader.field !== field || !reader.readWindow()) return ''
    ;[start, end] = [reader.start, reader.at]
  }
  return frame.toString('latin1', start, end)
}

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
