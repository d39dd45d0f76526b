/** The kind of a write, as its steps know it: its types if it is built in, its schema if a
 *  definition declares it. */

import type { MessageType, ScalePaths, Schema } from '@watchglass/codec'

/** A kind in the version of the request. */
export interface WriteKind {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  readonly group: string
  readonly version: string
  /** `apps/v1`, or `v1` in the core group. */
  readonly apiVersion: string
  /** Other versions in which a body may be: of the same fields. */
  readonly otherVersions?: readonly string[] | undefined
  readonly kind: string
  /** False for Scales of custom resources, which have a scheme of their own. */
  readonly hasInternalType?: boolean | undefined
  /** The plural name. */
  readonly resource: string
  readonly isNamespaced: boolean
  /** Type of built-in kinds. */
  readonly type: MessageType | undefined
  /** Definition of custom kinds. */
  readonly definition: WriteDefinition | undefined
}

/** The part of a CustomResourceDefinition that is about the written version. */
export interface WriteDefinition {
  /** Name of the CustomResourceDefinition. */
  readonly name: string
  /** The openAPIV3Schema as JSON.parse gives it; undefined if there is none. */
  readonly schema: unknown
  /** spec.preserveUnknownFields: nothing is pruned. */
  readonly preservesUnknownFields: boolean
  /** The resource has the subresource `status`. */
  readonly hasStatus: boolean
  readonly scale: ScalePaths | undefined
}

/** The group that errors say an object is of: events of both groups are one kind inside of
 *  kube-apiserver. */
export function groupOfObject({ group, kind }: Pick<WriteKind, 'group' | 'kind'>): string {
  return kind === 'Event' && group === 'events.k8s.io' ? '' : group
}
