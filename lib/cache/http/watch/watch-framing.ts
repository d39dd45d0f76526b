/** The form in which a watch's events are written, be it one after the other or as messages of a
 *  WebSocket: everything that is needed of it after its request was parsed. It is small and holds
 *  no contents, so that an idle watch costs little and keeps no old snapshot alive. */

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
import { firstMessage, message, opcodes } from '../server/web-socket/messages.ts'

/** The way that frames take: one after the other in a response, or each as a message of a
 *  WebSocket. */
export type Carriage = 'response' | 'messages'

/** Frames of protobuf begin with their length in a response. */
const lengthBytes = 4

/** A frame as it is sent. A frame that is carried by a message has no length of its own. */
export function carried(
  frame: Uint8Array,
  { encoding }: Pick<OutputForm, 'encoding'>,
  carriage: Carriage,
): Uint8Array {
  if (carriage === 'response') return frame
  if (encoding === 'protobuf') return message(opcodes.binary, frame.subarray(lengthBytes))
  return message(encoding === 'cbor' ? opcodes.binary : opcodes.text, frame)
}

const framings = new WeakMap<ObjectEncoder, Map<string, WatchFraming>>()

/** The framing of all watches whose events this encoder writes in this way. */
export function framingOf(
  resource: Resource,
  encoder: ObjectEncoder,
  form: OutputForm,
  carriage: Carriage,
): WatchFraming {
  const made = new WatchFraming(resource, encoder, form, carriage)
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
  readonly carriage: Carriage

  constructor(resource: Resource, encoder: ObjectEncoder, form: OutputForm, carriage: Carriage) {
    this.resource = resource
    this.encoder = encoder
    this.form = form
    this.carriage = carriage
  }

  /** Equal for watches whose events are written alike. */
  get name(): string {
    return this.carriage === 'response' ? this.formName : `${this.formName} ${this.carriage}`
  }

  /** Equal for watches whose events are written alike but for the way that they take. */
  get formName(): string {
    const { rendering, includeObject } = this.form
    return `${this.encoder.segmentName(this.form)} ${rendering} ${includeObject}`
  }

  /** True for a list of metadata: no event can be written as one, and upstream ends such a stream
   *  at its first event. */
  get isUnanswerable(): boolean {
    return this.form.rendering === 'PartialObjectMetadataList'
  }

  /** Rows show ages, which change with time. */
  get canKeep(): boolean {
    return this.form.rendering !== 'Table'
  }

  event(event: ServedEvent, nowMs: number): Uint8Array | NotExact {
    const form = this.canKeep ? this.form : { ...this.form, now: nowMs }
    return this.carried(eventFrame(this.encoder, event, { form, hasColumns: false }))
  }

  /** A frame that was made for a response, as this watch is sent it. */
  carried<Frame extends Uint8Array | NotExact>(frame: Frame): Uint8Array | Frame {
    return frame instanceof Uint8Array ? carried(frame, this.form, this.carriage) : frame
  }

  /** The first frame of a watch, made from a shared one: only there a Table has its columns. */
  first(frame: Uint8Array): Uint8Array {
    const { form, encoder } = this
    if (form.rendering !== 'Table') return frame
    if (this.carriage === 'response') return frameWithColumns(frame, encoder, form)
    const { opcode, payload, rest } = firstMessage(frame)
    return Buffer.concat([message(opcode, frameWithColumns(payload, encoder, form)), rest])
  }

  bookmark(revision: Revision, endsInitialEvents: boolean): Uint8Array | NotExact {
    const { encoder, form } = this
    const bookmark = { revision, endsInitialEvents }
    return this.carried(bookmarkFrame(encoder, bookmark, { form, hasColumns: false }))
  }

  /** The last event of a watch whose position is no longer kept; `oldest` is the oldest revision
   *  that is. */
  expired(position: Revision, oldest: Revision): Uint8Array {
    const isCached = this.resource.isWatchCached
    return this.failure(isCached ? watchExpired(position, oldest) : uncachedWatchExpired())
  }

  failure(failure: CacheError): Uint8Array {
    return carried(failureFrame(failure, this.form), this.form, this.carriage)
  }
}

/** The frame that ends a watch with a failure. */
export function failureFrame(failure: CacheError, form: Pick<OutputForm, 'encoding'>): Uint8Array {
  return errorFrame(statusObjectJson(statusFromError(failure)), form)
}
