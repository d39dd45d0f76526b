/** The input and the result of learning how a server writes: the types that learn.ts and
 *  learn-forms.ts share. */

import type { Clock, Revision } from '@watchglass/base'
import type { LearnedOutput, Schema } from '@watchglass/codec'
import type { PassReason, Resource, ResourceStorage } from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'
import type { Upstream } from '../upstream/upstream.ts'

export interface Learning {
  readonly upstream: Pick<Upstream, 'call'>
  readonly resource: Resource & {
    readonly storage: ResourceStorage
    readonly learned: LearnedOutput
  }
  /** The mirror's contents at a revision. */
  readonly at: (revision: Revision) => Promise<Snapshot>
  readonly schema: Schema
  readonly clock: Clock
  readonly signal: AbortSignal
}

export type Learnt =
  | {
      readonly type: 'learnt'
      readonly listKind: string
      readonly warnings: readonly string[]
      readonly isWatchCached: boolean
      /** Undefined where the server has no Go types of its objects. */
      readonly learned: LearnedOutput | undefined
      /** False if the server had no answer to some of the questions: what was learnt before is kept
       *  of these, and they are asked again soon. */
      readonly isWhole: boolean
    }
  /** Neither side has an object. */
  | { readonly type: 'empty' }
  /** One side has an object that the other does not have. */
  | { readonly type: 'differs'; readonly what: string }
  /** The resource cannot be answered from the stored objects. */
  | { readonly type: 'passes'; readonly reason: PassReason; readonly why: string }
