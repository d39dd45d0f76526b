import t from 'tap'
import { inRange } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { compileFilter, type Filter, nameOfKey } from '../../../lib/kube/selectors/filter.ts'
import type { WatchPlan } from '../../../lib/kube/read-plan.ts'
import { watchEvent } from '../../../lib/kube/watch-events.ts'
import { type RecordedWatch, watches } from '../../golden/load.ts'
import { answerRecorded, storeAt } from '../../support/kube/kube-golden.ts'
import { recordedReader } from '../../support/kube/selectable.ts'

/** Whether the server still had the history depends on when it was started, and identity is decided
 *  elsewhere. */
const recorded = watches().filter(
  watch =>
    !watch.flags.includes('cache-window') &&
    watch.user === 'admin' &&
    watch.response.status !== 406 &&
    !isEndedByMediaType(watch) &&
    watch.response.headers['content-type'] === 'application/json',
)

/** Upstream cannot make a list of one event's object, and ends the stream at the first. */
function isEndedByMediaType({ request }: RecordedWatch): boolean {
  return String(request.headers['Accept']).includes('as=PartialObjectMetadataList')
}

t.test('watches that upstream refused are refused with the same status and body', async t => {
  for (const watch of recorded.filter(({ response }) => response.status >= 400)) {
    const answer = answerRecorded(watch)
    if (answer.type === 'other') {
      t.equal(answer.what, 'computed', watch.id)
      continue
    }
    t.strictSame(
      answer.type === 'failure' ? [answer.code, answer.body] : answer.type,
      [watch.response.status, watch.response.body],
      `${watch.id} ${watch.request.path}`,
    )
  }
})

t.test('watches send the recorded events in the recorded order', async t => {
  let compared = 0
  for (const watch of recorded.filter(({ response }) => response.status === 200)) {
    const answer = answerRecorded(watch)
    if (answer.type !== 'watch') continue
    const wanted = recordedEvents(watch)
    if (wanted === undefined) continue
    t.strictSame(eventsOf(answer.plan, watch), wanted, `${watch.id} ${watch.request.path}`)
    compared++
  }
  t.ok(compared >= 80, `${compared} watches compared`)
})

/** The events that the plan yields of the history up to the end of the stream. */
function eventsOf(plan: WatchPlan, watch: RecordedWatch): string[] {
  const { start } = plan
  const end = Math.max(watch.mutations.to_revision, watch.at_revision)
  const store = storeAt(end, 0)
  const filter = compileFilter(plan, recordedReader)
  const events: string[] = []
  let from = watch.at_revision
  if (start.type === 'state') {
    const snapshot = store.at(revision(from))
    for (const entry of snapshot.iterate(plan.range)) {
      if (selects(filter, entry)) events.push(`ADDED ${nameOfKey(entry.key)} ${entry.modRevision}`)
    }
    if (start.hasEndBookmark) events.push('BOOKMARK')
  } else if (start.type === 'after') from = start.revision
  if (from > store.revision) return events
  const batches = store.since(revision(from))
  if (batches === 'expired') return ['expired']
  for (const batch of batches) {
    for (const event of batch.events) {
      if (!inRange(event.key, plan.range)) continue
      const told = watchEvent(event, batch.revision, filter)
      if (told instanceof NotExact) throw new Error(told.reason)
      if (told !== undefined) {
        events.push(`${told.type} ${nameOfKey(told.entry.key)} ${told.revision}`)
      }
    }
  }
  return events
}

function selects(filter: Filter | undefined, entry: Parameters<Filter>[0]): boolean {
  const isSelected = filter === undefined || filter(entry)
  if (isSelected instanceof NotExact) throw new Error(isSelected.reason)
  return isSelected
}

interface Frame {
  readonly type: string
  readonly object: RecordedObject & { readonly rows?: readonly { object?: RecordedObject }[] }
}

interface RecordedObject {
  readonly metadata?: {
    readonly name?: string
    readonly resourceVersion?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** The recorded events but for bookmarks on an interval; undefined where frames do not name their
 *  objects, or tell of a failure. */
function recordedEvents(watch: RecordedWatch): string[] | undefined {
  const events: string[] = []
  for (const { raw = '' } of watch.frames) {
    let frame: Frame
    try {
      frame = JSON.parse(raw) as Frame
    } catch {
      return undefined
    }
    const { type, object } = frame
    if (type === 'ERROR') return undefined
    const { metadata } = object.rows?.[0]?.object ?? object
    if (type === 'BOOKMARK') {
      const isEnd = metadata?.annotations?.['k8s.io/initial-events-end'] === 'true'
      if (isEnd) events.push('BOOKMARK')
      continue
    }
    if (metadata?.name === undefined) return undefined
    events.push(`${type} ${metadata.name} ${metadata.resourceVersion}`)
  }
  return events
}
