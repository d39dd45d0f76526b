/** The form in which a watch's events are written: everything that is needed of it after its
 *  request was parsed. It is small and holds no contents, so that an idle watch costs little and
 *  keeps no old snapshot alive. */

import type { CacheError, NotExact, Revision } from '@watchglass/base'
import {
  bookmarkFrame,
  errorFrame,
  eventFrame,
  frameWithColumns,
  type ObjectEncoder,
  type OutputForm,
} from '@watchglass/codec'
import {
  type Resource,
  statusFromError,
  statusObjectJson,
  uncachedWatchExpired,
  type ServedEvent,
  watchExpired,
} from '@watchglass/kube'

const framings = new WeakMap<ObjectEncoder, Map<string, WatchFraming>>()

/** The framing of all watches whose events this encoder writes in this way. */
export function framingOf(
  resource: Resource,
  encoder: ObjectEncoder,
  form: OutputForm,
): WatchFraming {
  const made = new WatchFraming(resource, encoder, form)
  let ofEncoder = framings.get(encoder)
  if (ofEncoder === undefined) framings.set(encoder, (ofEncoder = new Map()))
  const known = ofEncoder.get(made.name)
  if (known === undefined) ofEncoder.set(made.name, made)
  return known ?? made
}

export class WatchFraming {
  readonly resource: Resource
  readonly encoder: ObjectEncoder
  readonly form: OutputForm

  constructor(resource: Resource, encoder: ObjectEncoder, form: OutputForm) {
    this.resource = resource
    this.encoder = encoder
    this.form = form
  }

  /** Equal for watches whose events are written alike. */
  get name(): string {
    const { rendering, includeObject } = this.form
    return `${this.encoder.segmentName(this.form)} ${rendering} ${includeObject}`
  }

  /** Rows show ages, which change with time. */
  get canKeep(): boolean {
    return this.form.rendering !== 'Table'
  }

  event(event: ServedEvent, nowMs: number): Uint8Array | NotExact {
    const form = this.canKeep ? this.form : { ...this.form, now: nowMs }
    return eventFrame(this.encoder, event, { form, hasColumns: false })
  }

  /** The first frame of a watch, made from a shared one: only there a Table has its columns. */
  first(frame: Uint8Array): Uint8Array {
    return this.form.rendering === 'Table'
      ? frameWithColumns(frame, this.encoder, this.form)
      : frame
  }

  bookmark(revision: Revision, endsInitialEvents: boolean): Uint8Array | NotExact {
    const { encoder, form } = this
    return bookmarkFrame(encoder, { revision, endsInitialEvents }, { form, hasColumns: false })
  }

  /** The last event of a watch whose position is no longer kept; `oldest` is the oldest revision
   *  that is. */
  expired(position: Revision, oldest: Revision): Uint8Array {
    const isCached = this.resource.isWatchCached
    return this.failure(isCached ? watchExpired(position, oldest) : uncachedWatchExpired())
  }

  failure(failure: CacheError): Uint8Array {
    return errorFrame(statusObjectJson(statusFromError(failure)), this.form)
  }
}
