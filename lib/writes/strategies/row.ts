/** The differences of a resource's writes from the default. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import type { FieldError } from '../field-errors.ts'
import type { Identity } from '@watchglass/kube'

/** The part of the request that strategies need. */
export interface StrategyContext {
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** Who writes. */
  readonly user: Identity
  readonly allocator: ServiceAllocator
  readonly numbers: NumbersInUse
  /** Takes what the client is told beside the answer. */
  warn(texts: Iterable<string>): void
}

/** The numbers that stored Services have. */
export interface NumbersInUse {
  hasAddress(address: string): boolean
  hasPort(port: number): boolean
  /** Whether a Service of this cluster may have it. */
  isInRange(address: string): boolean
  /** An address that was drawn, in the range of this cluster. */
  placed(address: string): string
}

/** Gives out one after the other, without looking at what Services have. */
export interface ServiceAllocator {
  /** An address in the range of the cluster's services. */
  address(): string
  /** A port of nodes. */
  port(): number
}

/** Who may delete the dependents of a deleted object, unless the request says so. */
export type Collection = 'unsupported' | 'orphan' | 'background'

export type PrepareCreate = (object: JsonObject, context: StrategyContext) => void
/** Errors that are told of what is valid by itself. `old` is undefined for a new object. */
export type RefuseTaken = (
  object: JsonObject,
  old: JsonObject | undefined,
  context: StrategyContext,
) => readonly FieldError[]
export type PrepareUpdate = (object: JsonObject, old: JsonObject, context: StrategyContext) => void

/** The differences of one resource from the default: nothing is reset, and no generation is
 *  counted. */
export interface StrategyRow {
  /** It has a status: dropped when it is created, kept when it is updated, written through a
   *  subresource. */
  readonly hasStatus?: boolean
  /** A create keeps the status. */
  readonly keepsStatus?: boolean
  /** Created with generation 1; a change of one of these members makes it the next. Other
   *  changes than of metadata: `*`. */
  readonly counted?: readonly string[]
  /** A change counts also where the strategy drops what an update adds. */
  readonly countsDropped?: boolean
  /** Empty lists and maps that a client writes count as changes, each time. */
  readonly countsEmpties?: boolean
  /** A create leaves the generation as it came. */
  readonly keepsGeneration?: boolean
  /** An update of the status leaves all metadata alone, but for managedFields. */
  readonly keepsMetadata?: boolean
  /** Nothing is added to generateName: it is the name. */
  readonly namedByPrefix?: boolean
  readonly createsOnUpdate?: boolean
  /** An apply to its status creates it, which those of others refuse. */
  readonly createsByStatus?: boolean
  /** An update must say which version of the object it is of. */
  readonly needsVersion?: boolean
  /** A delete answers with the object, and not with a Status. */
  readonly returnsDeleted?: boolean
  readonly collection?: Collection
  /** Paths of fields that only an object that has them keeps. */
  readonly gated?: readonly (readonly string[])[]
  /** The path of the pod's spec in it. */
  readonly podSpec?: readonly string[]
  /** Puts back what reads leave out of a stored object: an update begins with what is stored. */
  readonly restore?: (object: JsonObject, stored: () => JsonValue | undefined) => void
  readonly prepareCreate?: PrepareCreate
  /** Before validation, as the server gives numbers out. */
  readonly refuseTaken?: RefuseTaken
  /** Before it is seen whether a counted member has changed. */
  readonly prepareUpdate?: PrepareUpdate
  /** Changes by an update through a subresource; `status` has those beside keeping the spec. */
  readonly subresources?: Readonly<Record<string, PrepareUpdate>>
}
