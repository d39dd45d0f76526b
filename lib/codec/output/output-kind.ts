/** What outputs need to know of a resource in one version. lib/kube knows much more, and passes its resources as these. */

import type { Schema } from '../schema/schema.ts'
import type { LearnedOutput } from './learned-output.ts'
import type { CustomColumn } from '../table/printers/custom.ts'

export interface OutputKind {
  /** Of the server that is answered for. */
  readonly schema: Schema
  readonly group: string
  readonly version: string
  /** The plural name. */
  readonly resource: string
  readonly kind: string
  readonly listKind: string
  readonly storage: StoredKind
  /** Of custom resources only. */
  readonly custom?: CustomOutput | undefined
  /** Of aggregated servers only. */
  readonly learned?: LearnedOutput | undefined
}

/** What is in etcd. */
export interface StoredKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  /** How it becomes what is served: the same, under another version's name, or in another shape. */
  readonly conversion: 'same' | 'relabel' | 'convert' | 'webhook'
}

export interface CustomOutput {
  /** The revision of the definition: what was derived from one revision is not valid for another. */
  readonly definedAt: number
  /** Undefined where the definition declares none. */
  readonly columns: readonly CustomColumn[] | undefined
}

/** `v1`, `apps/v1` */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string
  readonly version: string
}): string {
  return group === '' ? version : `${group}/${version}`
}

/** The name of a kind's Go type, which some refusals mention. */
export function goTypeOf({ group, kind, listKind, custom }: OutputKind, isList: boolean): string {
  if (custom !== undefined) {
    return isList ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured'
  }
  const name = group.split('.')[0] ?? ''
  // Both groups of events share one internal type.
  const isCore = group === '' || group === 'events.k8s.io'
  return `*${isCore ? 'core' : (goPackages[name] ?? name)}.${isList ? listKind : kind}`
}

/** Where the internal package is not named like the group. */
const goPackages: Readonly<Record<string, string>> = { internal: 'apiserverinternal' }
