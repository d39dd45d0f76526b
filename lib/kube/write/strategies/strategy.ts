/** What a resource does to its objects when they are written: what it resets, keeps and counts. The rows are in table.ts. */

import type { Identity } from '../../access-review.ts'
import { type JsonObject, memberOf } from '../../../codec/json/tree.ts'
import {
  copyMember,
  generationOf,
  isEqual,
  metadataOf,
  setGeneration,
  setMeta,
} from '../metadata.ts'
import type { WriteKind } from '../write-kind.ts'
import { strategyRows } from './table.ts'

/** What strategies need of the request. */
export interface StrategyContext {
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** Who writes. */
  readonly user: Identity
}

/** Who may delete the dependents of a deleted object, unless the request says so. */
export type Collection = 'unsupported' | 'orphan' | 'background'

type PrepareCreate = (object: JsonObject, context: StrategyContext) => void
type PrepareUpdate = (object: JsonObject, old: JsonObject, context: StrategyContext) => void

/** How a resource differs from the plainest one: metadata and data, nothing reset, nothing counted. */
export interface StrategyRow {
  /** It has a status: dropped when it is created, kept when it is updated, written through a subresource. */
  readonly hasStatus?: boolean
  /** A create keeps the status. */
  readonly keepsStatus?: boolean
  /** Created with generation 1; a change of one of these members makes it the next. Other changes than of metadata: `*`. */
  readonly counted?: readonly string[]
  /** An update of the status leaves all metadata alone, but for managedFields. */
  readonly keepsMetadata?: boolean
  readonly createsOnUpdate?: boolean
  /** An update must say which version of the object it is of. */
  readonly needsVersion?: boolean
  /** A delete answers with the object, and not with a Status. */
  readonly returnsDeleted?: boolean
  readonly collection?: Collection
  readonly prepareCreate?: PrepareCreate
  /** Before it is seen whether a counted member has changed. */
  readonly prepareUpdate?: PrepareUpdate
  /** What an update through a subresource does; `status` is what it does beside keeping the spec. */
  readonly subresources?: Readonly<Record<string, PrepareUpdate>>
}

export interface Strategy extends StrategyRow {
  readonly onCreate: PrepareCreate
  readonly onUpdate: PrepareUpdate
}

/** The strategy of a resource, or of one of its subresources. */
export function strategyOf(kind: WriteKind, subresource: string): Strategy {
  if (kind.definition !== undefined) return customStrategy(kind, subresource)
  const row = strategyRows[`${kind.group}/${kind.resource}`] ?? {}
  return {
    ...row,
    onCreate: (object, context) => prepareCreate(row, object, context),
    onUpdate:
      subresource === ''
        ? (object, old, context) => prepareUpdate(row, object, { old, context })
        : (object, old, context) => prepareSubresource(row, object, { old, context, subresource }),
  }
}

function prepareCreate(row: StrategyRow, object: JsonObject, context: StrategyContext): void {
  if (row.hasStatus === true && row.keepsStatus !== true) object.delete('status')
  if (row.counted !== undefined) setGeneration(object, 1)
  row.prepareCreate?.(object, context)
}

interface Update {
  readonly old: JsonObject
  readonly context: StrategyContext
}

function prepareUpdate(row: StrategyRow, object: JsonObject, { old, context }: Update): void {
  if (row.hasStatus === true) copyMember(object, old, 'status')
  row.prepareUpdate?.(object, old, context)
  const hasChanged = row.counted?.some(name => hasMemberChanged(object, old, name)) === true
  if (hasChanged) setGeneration(object, generationOf(old) + 1)
}

function hasMemberChanged(object: JsonObject, old: JsonObject, name: string): boolean {
  if (name === '*') {
    const names = new Set([...object.keys(), ...old.keys()])
    names.delete('metadata')
    return [...names].some(member => !isEqual(object.get(member), old.get(member)))
  }
  const [first = '', second] = name.split('.')
  const [a, b] = [object.get(first), old.get(first)]
  if (second === undefined) return !isEqual(a, b)
  return !isEqual(memberOf(a, second), memberOf(b, second))
}

function prepareSubresource(
  row: StrategyRow,
  object: JsonObject,
  { old, context, subresource }: Update & { readonly subresource: string },
): void {
  if (subresource === 'status') {
    copyMember(object, old, 'spec')
    if (row.keepsMetadata === true) keepMetadata(object, old)
  }
  row.subresources?.[subresource]?.(object, old, context)
}

/** metav1.ResetObjectMetaForStatus */
const statusMetadata = [
  'deletionTimestamp',
  'generation',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
]

function keepMetadata(object: JsonObject, old: JsonObject): void {
  const metadata = metadataOf(object)
  const known = metadataOf(old)
  for (const name of statusMetadata) copyMember(metadata, known, name)
}

/** Of a resource that a definition declares. */
function customStrategy({ definition }: WriteKind, subresource: string): Strategy {
  const hasStatus = definition?.hasStatus === true
  return {
    needsVersion: true,
    onCreate: object => {
      if (hasStatus) object.delete('status')
      setGeneration(object, 1)
    },
    onUpdate: (object, old) => {
      if (subresource === 'status') {
        writeOnlyStatus(object, old)
        return
      }
      if (hasStatus) copyMember(object, old, 'status')
      if (hasMemberChanged(object, old, '*')) setGeneration(object, generationOf(old) + 1)
    },
  }
}

function writeOnlyStatus(object: JsonObject, old: JsonObject): void {
  const status = object.get('status')
  const managedFields = metadataOf(object).get('managedFields')
  object.clear()
  for (const [name, value] of old) object.set(name, value)
  object.set('metadata', new Map(metadataOf(old)))
  setMeta(object, 'managedFields', managedFields)
  if (status === undefined) object.delete('status')
  else object.set('status', status)
}
