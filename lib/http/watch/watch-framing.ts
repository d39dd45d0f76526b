/** How one watch's events are written: everything about it that is still needed once its request has been understood. It is small, and
 *  holds no contents, so that an idle watch costs little and keeps no old state alive. */

import type { CacheError } from '../../base/errors.ts'
import type { Revision } from '../../base/revision.ts'
import type { Forms, Shown } from '../../codec/served/object-encoder.ts'
import {
  bookmarkFrame,
  errorFrame,
  eventFrame,
  frameWithColumns,
} from '../../codec/output/frames.ts'
import { formName } from '../../codec/output/list-body.ts'
import type { NotExact } from '../../codec/not-exact.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import {
  statusFromError,
  statusObjectJson,
  uncachedWatchExpired,
  watchExpired,
} from '../../kube/status.ts'
import type { WatchEvent } from '../../kube/watch-events.ts'

const framings = new WeakMap<Forms, Map<string, WatchFraming>>()

/** The framing of watches that show those forms so: one for all of them. */
export function framingOf(resource: Resource, forms: Forms, shown: Shown): WatchFraming {
  const made = new WatchFraming(resource, forms, shown)
  let ofForms = framings.get(forms)
  if (ofForms === undefined) framings.set(forms, (ofForms = new Map()))
  const known = ofForms.get(made.name)
  if (known === undefined) ofForms.set(made.name, made)
  return known ?? made
}

export class WatchFraming {
  readonly resource: Resource
  readonly forms: Forms
  readonly shown: Shown

  constructor(resource: Resource, forms: Forms, shown: Shown) {
    this.resource = resource
    this.forms = forms
    this.shown = shown
  }

  /** Equal for watches whose events are written alike. */
  get name(): string {
    const { view, includeObject } = this.shown
    return `${formName(this.forms, this.shown)} ${view} ${includeObject}`
  }

  /** Rows show ages, which pass. */
  get canKeep(): boolean {
    return this.shown.view !== 'Table'
  }

  event(event: WatchEvent, nowMs: number): Uint8Array | NotExact {
    const shown = this.canKeep ? this.shown : { ...this.shown, now: nowMs }
    return eventFrame(this.forms, event, { shown, hasColumns: false })
  }

  /** The first frame of a watch, from one that others share: a Table says its columns there, and only there. */
  first(frame: Uint8Array): Uint8Array {
    return this.shown.view === 'Table' ? frameWithColumns(frame, this.forms, this.shown) : frame
  }

  bookmark(revision: Revision, endsInitialEvents: boolean): Uint8Array | NotExact {
    const { forms, shown } = this
    return bookmarkFrame(forms, { revision, endsInitialEvents }, { shown, hasColumns: false })
  }

  /** The end of a watch whose position is no longer kept, `oldest` being the first that is. */
  expired(position: Revision, oldest: Revision): Uint8Array {
    const isCached = this.resource.isWatchCached
    return this.failure(isCached ? watchExpired(position, oldest) : uncachedWatchExpired())
  }

  failure(failure: CacheError): Uint8Array {
    return errorFrame(statusObjectJson(statusFromError(failure)), this.shown)
  }
}
