/** Metrics of watches: how many are open and where, how many are behind, what they were sent, and
 *  how they ended. */

import { Counter, Gauge, type Metric } from 'prom-client'

/** Watches, as their metrics need them. */
export interface WatchFigures {
  readonly open: number
  readonly lagging: number
  readonly frameBytes: number
  /** Open watches of each keyspace that has any. */
  readonly byKeyspace: ReadonlyMap<string, number>
  /** Watches that have ended, by how. */
  readonly ended: Readonly<Record<string, number>>
  /** Events and bookmarks that were written to clients, after the initial ones. */
  readonly sentFrames: number
  readonly sentBytes: number
}

/** The most keyspaces that are shown. */
const shownMax = 500

export function watchGauges(figures: () => WatchFigures): Metric[] {
  const gauge = (name: string, help: string, valueOf: (now: WatchFigures) => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(valueOf(figures()))
      },
    })
  const counter = (name: string, help: string, valueOf: (now: WatchFigures) => number): Counter =>
    new Counter({
      name,
      help,
      registers: [],
      collect() {
        this.reset()
        this.inc(valueOf(figures()))
      },
    })
  const ended = new Counter({
    name: 'watchglass_watches_ended_total',
    help: 'Watches that have ended: because the client left (client), the time was up (timeout), the position had left the history (expired), an event could not be shown exactly (inexact), or this server ended them (server).',
    labelNames: ['reason'],
    registers: [],
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(figures().ended)) this.inc({ reason }, count)
    },
  })
  const byKeyspace = new Gauge({
    name: 'watchglass_keyspace_watches',
    help: `Open watches by keyspace; of those with the most watches, at most ${shownMax}.`,
    labelNames: ['keyspace'],
    registers: [],
    collect() {
      this.reset()
      const counts = [...figures().byKeyspace].toSorted(([, a], [, b]) => b - a)
      for (const [keyspace, count] of counts.slice(0, shownMax)) this.set({ keyspace }, count)
    },
  })
  const sent = 'that open watches were sent, without the initial ones.'
  const lagging = 'Open watches that are behind, because their clients read slowly.'
  const frames = 'Bytes of encoded events that are kept for open watches.'
  return [
    gauge('watchglass_watches', 'Open watches.', now => now.open),
    gauge('watchglass_watches_lagging', lagging, now => now.lagging),
    gauge('watchglass_watch_frame_bytes', frames, now => now.frameBytes),
    byKeyspace,
    ended,
    counter('watchglass_watch_sent_events_total', `Events ${sent}`, now => now.sentFrames),
    counter('watchglass_watch_sent_bytes_total', `Bytes of events ${sent}`, now => now.sentBytes),
  ]
}
