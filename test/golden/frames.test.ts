import t from 'tap'
import { inRange } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import {
  type FrameEvent,
  type FrameOptions,
  bookmarkFrame,
  errorFrame,
  eventFrame,
} from '../../lib/codec/output/frames.ts'
import {
  ObjectEncoder,
  type OutputForm,
  includedObject,
} from '../../lib/codec/output/object-encoder.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import { builtInResources } from '../../lib/kube/resources/built-ins.ts'
import { compileFilter } from '../../lib/kube/selectors/filter.ts'
import type { WatchPlan } from '../../lib/kube/read-plan.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import { watchEvent } from '../../lib/kube/watch-events.ts'
import { answerRecorded, storeAt } from '../support/kube/kube-golden.ts'
import { slowReader } from '../support/kube/slow-selectable.ts'
import { type RecordedWatch, frameBytes, recordingOf, watches } from './load.ts'
import { encoderOf, watchMediaType } from './outputs.ts'

t.test('every recorded frame is made again, byte by byte', async t => {
  const counts = new Map<string, number>()
  const differences: string[] = []
  for (const watch of watches().filter(({ response }) => response.status === 200)) {
    const answer = answerRecorded(watch)
    if (answer.type !== 'watch') continue
    const mediaType = watchMediaType(watch, answer.plan.resource)
    if (mediaType === undefined) {
      differences.push(`${watch.id} is refused`)
      continue
    }
    const encoder = encoderOf(answer.plan.resource, watch.at_revision)
    const events = eventsOf(answer.plan, watch)
    for (const [i, frame] of watch.frames.entries()) {
      const recorded = frameBytes(frame)
      const type =
        /ADDED|MODIFIED|DELETED|BOOKMARK|ERROR/.exec(recorded.toString('latin1'))?.[0] ?? ''
      const event = type === 'BOOKMARK' || type === 'ERROR' ? undefined : events.shift()
      const asked = parseTarget(watch.request.path)?.query.text('includeObject') ?? ''
      const includeObject = includedObject(asked) ?? 'Metadata'
      const sent = Date.parse(watch.recorded_at) + frame.offset_ms
      const made = [0, -1000, 1000].map(later => {
        const shown = { ...mediaType, includeObject, now: sent + later }
        return makeFrame(encoder, recorded, {
          type,
          event,
          options: { form: shown, hasColumns: i === 0 },
        })
      })
      const name = `${mediaType.encoding} ${mediaType.rendering} ${type}`
      const isSame = made.some(bytes => !(bytes instanceof NotExact) && recorded.equals(bytes))
      counts.set(name, (counts.get(name) ?? 0) + (isSame ? 1 : 0))
      if (isSame) continue
      const [first] = made
      const reason = first instanceof NotExact ? first.reason : Buffer.from(first ?? '').toString()
      differences.push(
        `${watch.id} ${watch.request.path} ${i} ${name}: ${reason} instead of ${recorded.toString()}`,
      )
    }
  }
  for (const [name, count] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    t.comment(`equal ${name}: ${count}`)
  }
  t.strictSame(differences, [])
})

for (const minor of ['1.33', '1.34', '1.35']) {
  t.test(`bookmarks of ${minor} are made again`, async t => {
    const schema = schemaOf(minor)
    const resources = builtInResources(schema)
    let count = 0
    for (const watch of recordingOf(minor).watches()) {
      const [path] = watch.request.path.split('?')
      const resource = resources.find(
        ({ group, version, resource: name }) =>
          path!.startsWith(group === '' ? `/api/${version}/` : `/apis/${group}/${version}/`) &&
          path!.endsWith(`/${name}`),
      )
      if (resource?.storage === undefined) continue
      const mediaType = watchMediaType(watch, resource)
      const encoder = new ObjectEncoder(
        { ...resource, storage: resource.storage, schema },
        undefined,
      )
      for (const [i, frame] of watch.frames.entries()) {
        const recorded = frameBytes(frame)
        if (mediaType === undefined || !recorded.includes('BOOKMARK')) continue
        const form: OutputForm = { ...mediaType, includeObject: 'Metadata', now: 0 }
        const options = { form, hasColumns: i === 0 }
        const made = makeFrame(encoder, recorded, { type: 'BOOKMARK', event: undefined, options })
        const text = made instanceof NotExact ? made.reason : Buffer.from(made).toString('latin1')
        t.equal(text, recorded.toString('latin1'), `${watch.id} ${watch.request.path}`)
        count++
      }
    }
    t.ok(count > 10, `${count} bookmarks`)
  })
}

t.test('a Table without objects shows where the initial events end', async t => {
  // As kube-apiservers 1.34 and 1.36 answer includeObject=None.
  const [resource] = builtInResources(schemaOf()).filter(one => one.resource === 'configmaps')
  const { storage } = resource!
  const encoder = new ObjectEncoder(
    { ...resource!, storage: storage!, schema: schemaOf() },
    undefined,
  )
  const form: OutputForm = {
    encoding: 'json',
    rendering: 'Table',
    renderingVersion: 'v1',
    includeObject: 'None',
    now: 0,
  }
  for (const [endsInitialEvents, object] of [
    [false, 'null'],
    [
      true,
      '{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}',
    ],
  ] as const) {
    const bookmark = { revision: 7, endsInitialEvents }
    const frame = bookmarkFrame(encoder, bookmark, { form, hasColumns: false })
    t.match(Buffer.from(frame as Uint8Array).toString(), `"object":${object}}]}}`)
  }
})

function makeFrame(
  encoder: ObjectEncoder,
  recorded: Buffer,
  { type, event, options }: { type: string; event: FrameEvent | undefined; options: FrameOptions },
): Uint8Array | NotExact {
  if (type === 'ERROR') return errorFrame(statusIn(recorded), options.form)
  if (event !== undefined) return eventFrame(encoder, event, options)
  const text = recorded.toString('latin1')
  const at = /"resourceVersion":"(\d+)"/.exec(text)?.[1] ?? /\*\0[2].(\d+)8\0B/s.exec(text)?.[1]
  const endsInitialEvents = text.includes('initial-events-end')
  return bookmarkFrame(encoder, { revision: Number(at), endsInitialEvents }, options)
}

/** The Status of an ERROR frame: it says itself what it is about. */
function statusIn(recorded: Buffer): string {
  if (recorded[0] === 0x7b) {
    return JSON.stringify((JSON.parse(recorded.toString()) as { object: object }).object)
  }
  const json = jsonFromProtobuf(recorded, recorded.indexOf('k8s\0'))
  return json instanceof NotExact ? json.reason : Buffer.from(json).toString()
}

/** The events that the plan yields of the history up to the end of the stream. */
function eventsOf(plan: WatchPlan, watch: RecordedWatch): FrameEvent[] {
  const { start } = plan
  const end = Math.max(watch.mutations.to_revision, watch.at_revision)
  const store = storeAt(end, 0)
  const filter = compileFilter(plan, slowReader)
  const events: FrameEvent[] = []
  let from = watch.at_revision
  if (start.type === 'state') {
    for (const entry of store.at(revision(from)).iterate(plan.range)) {
      const isSelected = filter === undefined || filter(entry) === true
      if (isSelected) events.push({ type: 'ADDED', entry, revision: entry.modRevision })
    }
  } else if (start.type === 'after') from = start.revision
  const batches = from > store.revision ? 'expired' : store.since(revision(from))
  if (batches === 'expired') return events
  for (const batch of batches) {
    for (const event of batch.events) {
      if (!inRange(event.key, plan.range)) continue
      const told = watchEvent(event, batch.revision, filter)
      if (told !== undefined && !(told instanceof NotExact)) events.push(told)
    }
  }
  return events
}
