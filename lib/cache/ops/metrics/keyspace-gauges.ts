/** Metrics of mirrored keyspaces. A cluster may declare any number of resources, so only so many
 *  are shown. */

import { Gauge } from 'prom-client'

/** A mirrored keyspace, as its metrics need it. */
export interface KeyspaceFacts {
  readonly name: string
  readonly state: string
  readonly revision: number
  readonly oldest: number
  /** For how long a client may be away and still watch on; undefined while that is without end. */
  readonly historyMs?: number | undefined
  readonly entries: number
  /** Size of the entries; undefined where it is not counted. */
  readonly bytes?: number | undefined
  readonly lagRevisions: number
  readonly lagMs: number
}

const states = ['starting', 'catching-up', 'ready', 'cut-off', 'suspect'] as const

/** The most keyspaces with metrics of their own. A cluster with more of them has most of its
 *  objects in these. */
const shownMax = 500

/** A gauge for each fact of a keyspace, one for each state that it may be in, and one for how many
 *  are not shown. */
export function keyspaceGauges(all: () => readonly KeyspaceFacts[]): Gauge[] {
  const keyspaces = (): readonly KeyspaceFacts[] => shownOf(all())
  const gauge = (
    name: string,
    help: string,
    valueOf: (facts: KeyspaceFacts) => number | undefined,
  ): Gauge =>
    new Gauge({
      name: `watchglass_keyspace_${name}`,
      help,
      labelNames: ['keyspace'],
      registers: [],
      collect() {
        this.reset()
        for (const facts of keyspaces()) {
          const value = valueOf(facts)
          if (value !== undefined) this.set({ keyspace: facts.name }, value)
        }
      },
    })
  const hidden = new Gauge({
    name: 'watchglass_keyspaces_without_metrics',
    help: `Keyspaces that have no metrics of their own, because there are more than ${shownMax}.`,
    registers: [],
    collect() {
      this.set(Math.max(0, all().length - shownMax))
    },
  })
  return [
    stateGauge(keyspaces),
    hidden,
    gauge('revision', 'The revision up to which nothing is missing.', one => one.revision),
    gauge(
      'oldest_revision',
      'The oldest revision that is still in the history.',
      one => one.oldest,
    ),
    gauge(
      'history_seconds',
      'How long a client may have been away and still watch on without a new list, in seconds; absent while nothing has left the history.',
      one => (one.historyMs === undefined ? undefined : one.historyMs / 1000),
    ),
    gauge('entries', 'Entries at the newest revision.', one => one.entries),
    gauge(
      'bytes',
      'Bytes that these entries take: keys, values, and what keeping them costs.',
      one => one.bytes,
    ),
    gauge(
      'lag_revisions',
      'How many revisions etcd is ahead of the keyspace, as far as is known.',
      one => one.lagRevisions,
    ),
    gauge(
      'lag_seconds',
      'How long the keyspace has been behind etcd, in seconds; 0 if it is up to date.',
      one => one.lagMs / 1000,
    ),
  ]
}

/** All, or of too many those that are not ready, then those with the most entries. */
function shownOf(all: readonly KeyspaceFacts[]): readonly KeyspaceFacts[] {
  if (all.length <= shownMax) return all
  const isReady = ({ state }: KeyspaceFacts): number => Number(state === 'ready')
  return all.toSorted((a, b) => isReady(a) - isReady(b) || b.entries - a.entries).slice(0, shownMax)
}

function stateGauge(keyspaces: () => readonly KeyspaceFacts[]): Gauge {
  return new Gauge({
    name: 'watchglass_keyspace_state',
    help: `1 for the state that a keyspace is in, 0 for the others: ${states.join(', ')}.`,
    labelNames: ['keyspace', 'state'],
    registers: [],
    collect() {
      this.reset()
      for (const { name, ...facts } of keyspaces()) {
        for (const one of states) {
          this.set({ keyspace: name, state: one }, facts.state === one ? 1 : 0)
        }
      }
    },
  })
}
