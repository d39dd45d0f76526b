/** Describes an audience to the hub: which watches share frames, which changes concern them, and
 *  how a frame is made. */

import { type Clock, type Key, type Logger, NotExact, type Revision } from '@watchglass/base'
import { NeedsConversion, Superseded, Unproven } from '@watchglass/codec'
import {
  type Filter,
  indexTerms,
  indexUses,
  nameOfKey,
  namespaceOfKey,
  prefixOfNamespaces,
  rememberedFilter,
  shardHash,
  uidField,
  uidHash,
  watchedTerms,
  watchEvent,
  type ServedEvent,
  type WatchPlan,
} from '@watchglass/kube'
import type {
  AudienceSpec,
  Event,
  FrameCache,
  Framed,
  KeyValue,
  RequiredShards,
  RequiredTerms,
} from '@watchglass/store'
import type { ObjectPreparation } from '../request/object-preparation.ts'
import type { HeldEvent, UpstreamSide } from '../request/upstream-side.ts'
import type { OpenWatches } from './open-watches.ts'
import type { RequestContext } from '../request/request-context.ts'
import { framingOf, type WatchFraming } from './watch-framing.ts'

/** Services that make frames. */
export interface FrameServices {
  readonly watches: OpenWatches
  readonly upstream?: UpstreamSide | undefined
  /** Undefined where every object can be shown as it is. */
  readonly preparation?: ObjectPreparation | undefined
  readonly clock: Clock
  readonly logger: Logger
}

export interface SelectedWatch {
  readonly plan: WatchPlan
  readonly framing: WatchFraming
  readonly filter: Filter | undefined
}

/** The watch as the hub knows it. It outlives the request, so it holds no reference to it. */
export function audienceSpecOf(
  context: RequestContext,
  watch: SelectedWatch,
  services: FrameServices,
): AudienceSpec {
  const { plan, framing, filter } = watch
  const { range } = plan
  const { query } = context.target
  const { name } = framing
  const shards = plan.shards?.text ?? ''
  const selectors = {
    labelSelector: query.text('labelSelector'),
    fieldSelector: query.text('fieldSelector'),
  }
  const { labelSelector, fieldSelector } = selectors
  return {
    id: JSON.stringify([name, range.start, range.end, labelSelector, fieldSelector, shards]),
    range,
    requires: requiredTerms(context, plan),
    shards: requiredShards(context, plan),
    frameOf: frameMaker(services, { framing, filter, keyspace: plan.keyspace, selectors }),
  }
}

interface Making {
  readonly framing: WatchFraming
  readonly filter: Filter | undefined
  readonly keyspace: Key
  readonly selectors: NonNullable<HeldEvent['selectors']>
}

function frameMaker(
  { clock, logger, upstream, watches, preparation }: FrameServices,
  { framing: first, filter, keyspace, selectors }: Making,
): AudienceSpec['frameOf'] {
  const { resource } = first
  const frames: FrameCache | undefined = first.canKeep ? watches.frames : undefined
  const selected = filter && rememberedFilter(filter)
  let framing = first
  let names = namesOf(framing.name)
  /** Another gate instead of one that is outdated: the watch goes on. */
  const regate = (): void => {
    const { encoder, form } = framing
    const gate = upstream?.gateOf(resource, form)
    if (gate === undefined || typeof gate === 'string') return
    framing = framingOf(resource, encoder, { ...form, gate }, framing.carriage)
    names = namesOf(framing.name)
  }
  const held = (event: Event, told: ServedEvent, why: NotExact): Framed => {
    if (upstream === undefined) return inexact(why, event.key, told.revision)
    const isProvable = why instanceof Unproven || why instanceof Superseded
    if (!isProvable) upstream.noteInexact(keyspace, event.key, told.revision)
    const { encoder, form } = framing
    const shown = { keyspace, event, told, resource, encoder, form, isProvable }
    const shownAs = namesOf(framing.formName)[told.type]
    const isUnselected = told.type === unselectedType(event)
    const frame = isUnselected
      ? upstream.heldFrame({ ...shown, selectors: undefined, shownAs })
      : upstream.heldFrame({ ...shown, selectors, shownAs: JSON.stringify([shownAs, selectors]) })
    return typeof frame === 'string' ? frame : framing.carried(frame)
  }
  const inexact = ({ reason }: NotExact, key: Key, revision: Revision): 'inexact' => {
    upstream?.noteInexact(keyspace, key, revision)
    const fields = { resource: resource.resource, reason }
    logger.warn('watches end: an object cannot be shown exactly', fields)
    return 'inexact'
  }
  const isPrepared = (event: Event): boolean =>
    preparation?.waitsFor(resource, keyspace, [event.before, event.after]) === true
  return (event, revision, need) => {
    const told = watchEvent(event, revision, selected)
    if (told === undefined) return undefined
    // The object can be shown: it is this watch that nobody can answer.
    if (framing.isUnanswerable) return 'inexact'
    if (told instanceof NeedsConversion && isPrepared(event)) return 'later'
    if (told instanceof NotExact) return inexact(told, event.key, revision)
    const kept = frames?.get(event, names[told.type])
    const objection = kept && framing.form.gate?.objection(told.entry, 'alone')
    if (kept !== undefined && objection === undefined) return kept
    let made = framing.event(told, clock.wallMs())
    if (made instanceof Superseded) {
      regate()
      made = framing.event(told, clock.wallMs())
    }
    if (made instanceof NeedsConversion && isPrepared(event)) return 'later'
    if (made instanceof NotExact) return held(event, told, made)
    // Kept frames outlive the young generation: 1,000 a second make full collections about twice as
    // frequent.
    if (need !== 'alone') frames?.set(event, names[told.type], made, need === 'behind')
    return made
  }
}

/** The type of an event where nothing is selected, whose bytes are the same for all watches. */
function unselectedType({ before, after }: Event): ServedEvent['type'] {
  if (before === undefined) return 'ADDED'
  return after === undefined ? 'DELETED' : 'MODIFIED'
}

type FrameNames = Readonly<Record<ServedEvent['type'], string>>

function namesOf(name: string): FrameNames {
  return { ADDED: `ADDED ${name}`, MODIFIED: `MODIFIED ${name}`, DELETED: `DELETED ${name}` }
}

/** The first requirement of equality. Changes that it excludes cost this watch nothing. */
function requiredTerms({ state }: RequestContext, plan: WatchPlan): RequiredTerms | undefined {
  const name = plan.fields.exactValue('metadata.name')
  if (name !== undefined && name !== '') {
    return { index: 'name', termsOf: ({ key }) => [nameOfKey(key)], terms: [name] }
  }
  const [use] = indexUses(plan)
  if (use === undefined) return undefined
  const termsOf = indexTerms(use.name, plan.resource, state.makeReader)
  return termsOf === undefined ? undefined : { index: use.name, termsOf, terms: watchedTerms(use) }
}

/** The shards by the high half of their hashes. Bounds are between hashes: an end whose low half is
 *  zero leaves out all with its high half. */
function requiredShards({ state }: RequestContext, plan: WatchPlan): RequiredShards | undefined {
  const { shards, resource } = plan
  if (shards === undefined) return undefined
  const { field } = shards
  const ranges = shards.ranges.map(({ start, end }) => ({
    start: start.high,
    end: end.low === 0 ? end.high - 1 : end.high,
  }))
  if (field === 'namespace') {
    const prefix = prefixOfNamespaces(plan)
    const namespaceOf = (key: Key): string =>
      resource.isNamespaced ? namespaceOfKey(key, prefix) : ''
    return { field, highOf: ({ key }) => shardHash(namespaceOf(key)).high, ranges }
  }
  const reader = state.makeReader(resource, [uidField], false)
  const highOf = (entry: KeyValue): number | undefined => {
    const hash = uidHash(entry, reader)
    return hash instanceof NotExact ? undefined : hash.high
  }
  return { field, highOf, ranges }
}
