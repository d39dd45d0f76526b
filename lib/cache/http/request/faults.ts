/** Faults on purpose, as requests meet them: what whoever injects faults implements. */

import type { Clock, Revision } from '@watchglass/base'
import type { Attributes, Status } from '@watchglass/kube'
import type { WatcherSink } from '@watchglass/store'
import type { HttpRequest, ResponseStream } from '../server/http-request.ts'

/** A request as the rules of faults see it. */
export interface FaultySubject {
  readonly attributes: Attributes
  readonly userAgent: string
}

/** Faults that can be switched on while the program runs. */
export interface SwitchableFaults {
  /** Undefined as long as there were no rules. */
  readonly faults: Faults | undefined
}

export interface Faults {
  /** True while any fault rule is active. */
  readonly isOn: boolean
  /** The faults of a request; undefined if it meets none. */
  chooseFor(subject: FaultySubject): RequestFaults | undefined
}

/** A rule, and how often it was met. */
export interface FaultCount {
  readonly rule: string
  readonly met: number
}

/** The faults of one request. Whatever is asked for is met. */
export interface RequestFaults {
  /** The faults that the client has met so far. */
  readonly met: readonly string[]
  /** The request with a response that goes wrong; `request` itself if nothing does. */
  applyTo(request: HttpRequest, clock: Clock): HttpRequest
  /** A WebSocket that goes wrong; the stream itself if nothing does. Its pieces are whole
   *  messages. */
  applyToMessages(stream: ResponseStream, clock: Clock): ResponseStream
  /** Delay of the answer. */
  delayMs(): number
  /** The refusal in place of the answer. */
  failure(): Status | undefined
  /** Age of the contents. */
  staleMs(): number | undefined
  /** A watch has no bookmarks. */
  dropsBookmarks(): boolean
  /** Sink for the frames of a watch that ends too early; undefined if it does not. */
  sink(watch: FaultyWatch): WatcherSink | undefined
}

/** The watch that a client has. */
export interface FaultyWatch extends WatcherSink {
  readonly isOpen: boolean
  readonly watcher: { readonly position: Revision } | undefined
  end(reason: 'fault'): void
  expired(oldest: Revision, position?: Revision): void
}
