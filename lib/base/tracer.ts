/** Traces as the core asks for them. Who made them, and where they go, is decided above. */

/** Stages of a request, one after the other: reading what it asks for, who may ask, waiting until
 *  the mirror is fresh enough, making the answer, doing a write, the upstream, and writing the
 *  answer, of which a long list is made meanwhile. */
export type Stage = 'parse' | 'authorize' | 'freshness' | 'walk' | 'store' | 'pass' | 'write'

/** Headers, with names in lower case. */
export type TracedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Tracer {
  /** Undefined where the trace of the client is not recorded. */
  begin(headers: TracedHeaders, startMs: number): RequestTrace | undefined
}

export interface RequestTrace {
  /** Begins a stage, and ends the one before. */
  stage(stage: Stage): void
  /** The `traceparent` of whatever is asked for in this stage. */
  readonly traceparent: string
  end(name: string, attributes: Readonly<Record<string, string | number>>): void
}
