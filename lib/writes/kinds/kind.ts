/** The page of a kind: everything that a write of it does and that is not done to all kinds. Names
 *  are those of a strategy in kube-apiserver (pkg/registry): prepare, validate, warn, reset. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import type { MessageType } from '@watchglass/codec'
import type { Identity } from '@watchglass/kube'
import type { FieldError } from '../field-errors.ts'
import type { TextFormat } from '../validation/formats.ts'
import type { Place, PlaceRule } from '../validation/place.ts'
import type { WriteKind } from '../write-kind.ts'
import { withGroup } from './names.ts'

/** The part of the request that a kind sees. */
export interface StrategyContext {
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** The client that writes. */
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
  /** The ports of nodes that Services may have; left out: any. */
  readonly nodePorts?: PortRange | undefined
}

export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Gives out one after the other, without looking at what Services have. */
export interface ServiceAllocator {
  /** An address in the range of the cluster's services. */
  address(): string
  /** A port of nodes. */
  port(): number
}

/** The services that warnings need. */
export interface WarningContext {
  /** Why the certificate is not one of the key, both in PEM. */
  readonly keyPairProblem?: ((certificate: string, key: string) => string | undefined) | undefined
}

/** The fate of the dependents of a deleted object, unless the request says so. */
export type Collection = 'unsupported' | 'orphan' | 'background'

export type PrepareCreate = (object: JsonObject, context: StrategyContext) => void
export type PrepareUpdate = (object: JsonObject, old: JsonObject, context: StrategyContext) => void
/** Errors that are told of what is valid by itself. `old` is undefined for a new object. */
export type RefuseTaken = (
  object: JsonObject,
  old: JsonObject | undefined,
  context: StrategyContext,
) => readonly FieldError[]

/** Checks an object, and compares it with the old one. */
export type UpdateRule = (object: Place, old: Place) => void

/** The warnings about an object that is created, or changed where there is an `old` one. */
export type Warn = (object: Place, old: Place | undefined, context: WarningContext) => string[]

/** The members that the server resets, keeps and counts. A kind that says nothing resets nothing,
 *  and has no generation. */
export interface KindTraits {
  /** The kind has a status: dropped by a create, kept by an update, written through
   *  a subresource. */
  readonly hasStatus?: boolean
  /** A create keeps the status. */
  readonly keepsStatus?: boolean
  /** Created with generation 1; a change of one of these members makes it the next. Other
   *  changes than of metadata: `*`. */
  readonly counted?: readonly string[]
  /** A change counts also where the kind drops what an update adds. */
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
  /** An apply to the status creates the object, which other kinds refuse. */
  readonly createsByStatus?: boolean
  /** An update must say which version of the object it is of. */
  readonly needsVersion?: boolean
  /** A delete answers with the object, and not with a Status. */
  readonly returnsDeleted?: boolean
  readonly collection?: Collection
  /** Objects are removed after this time. */
  readonly ttlSeconds?: number
  /** Paths of fields behind closed feature gates, which only an object that has them keeps. */
  readonly gated?: readonly (readonly string[])[]
  /** The path of the pod's spec in it. */
  readonly podSpec?: readonly string[]
  /** Puts back what reads leave out of a stored object: an update begins with what is stored. */
  readonly restore?: (object: JsonObject, stored: () => JsonValue | undefined) => void
  readonly prepareCreate?: PrepareCreate
  /** Before it is seen whether a counted member has changed. */
  readonly prepareUpdate?: PrepareUpdate
  /** Before validation, as the server gives numbers out. */
  readonly refuseTaken?: RefuseTaken
}

/** The rules of what is wrong with an object. */
export interface KindRules {
  /** The format of names; a DNS subdomain by default. */
  readonly nameFormat?: TextFormat
  /** The rules check the metadata themselves, since it does not come first or not at all. */
  readonly hasOwnMetadata?: true
  /** The prefix of a made-up name is not checked, but what came of it. */
  readonly hasFreePrefix?: true
  /** Finalizers need no domain. */
  readonly hasFreeFinalizers?: true
  /** A write of a subresource does not look at metadata as the kind does. */
  readonly hasFreeStatusMetadata?: true
  /** An update does not look at metadata beside what is looked at for all kinds. */
  readonly hasFreeUpdate?: true
  /** Metadata of an update is looked at as that of a new object, too. */
  readonly isCheckedAsNew?: true
  readonly validateCreate?: PlaceRule
  readonly validateUpdate?: UpdateRule
}

/** An update through a subresource. */
export interface KindSubresource {
  /** Paths of fields that a write sets back, so that nobody comes to own them by it. */
  readonly resets?: readonly string[]
  /** Resets what a client may not write; of a `status`, beside the spec. */
  readonly prepare?: PrepareUpdate
  readonly validate?: UpdateRule
  readonly warn?: Warn
}

/** The contents of a page of kinds/. */
export interface KindSource extends KindTraits, KindRules {
  /** Empty for the core group. */
  readonly group: string
  readonly kind: string
  /** The name of the resource. */
  readonly plural: string
  /** Changes an object as it was decoded: defaults that rows of the schema cannot tell. */
  readonly complete?: (object: JsonObject) => void
  /** Puts a decoded object into the order of its type, where that takes more than its fields. */
  readonly ordered?: (object: JsonObject, written: BuiltInWriteKind) => JsonObject
  /** Paths of fields that a write of the whole sets back; by default the status, if there
   *  is one. */
  readonly resets?: readonly string[]
  readonly warn?: Warn
  /** The warning about a delete that does not say what becomes of dependents. */
  readonly warningOfDelete?: string
  readonly subresources?: Readonly<Record<string, KindSubresource>>
}

export type BuiltInWriteKind = WriteKind & { readonly type: MessageType }

export interface BuiltInKind extends KindSource {
  /** As `Job.batch`. */
  readonly groupKind: string
  /** As `jobs.batch`. */
  readonly groupResource: string
}

/** A kind with the names that are made of its own. */
export function kind(source: KindSource): BuiltInKind {
  return {
    ...source,
    groupKind: withGroup(source.kind, source.group),
    groupResource: withGroup(source.plural, source.group),
  }
}
