/** The strategy of a resource: what a write resets, keeps and counts. The rows are in table.ts. */

import { type JsonObject, memberOf } from '@watchglass/go'
import {
  copyMember,
  generationOf,
  isEqual,
  metadataOf,
  setGeneration,
  setMeta,
  textOf,
} from '../metadata.ts'
import { hasEmpties, writtenMember } from '../decode/written-empties.ts'
import { internalError } from '../refusals.ts'
import { areEqual } from '../ownership/sets/values.ts'
import type { WriteKind } from '../write-kind.ts'
import { dropGatedField, dropGatedFieldsOfPod } from './gated-fields.ts'
import type { PrepareCreate, PrepareUpdate, StrategyContext, StrategyRow } from './row.ts'
import { strategyRows } from './table.ts'

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
  if (row.counted !== undefined && row.keepsGeneration !== true) setGeneration(object, 1)
  dropGated(row, object, undefined)
  row.prepareCreate?.(object, context)
}

interface Update {
  readonly old: JsonObject
  readonly context: StrategyContext
}

function prepareUpdate(row: StrategyRow, object: JsonObject, { old, context }: Update): void {
  if (row.hasStatus === true) copyMember(object, old, 'status')
  const hasAnyChanged = (): boolean =>
    row.counted?.some(name => hasMemberChanged(object, old, name)) === true
  const hadChanged = row.countsDropped === true && hasAnyChanged()
  dropGated(row, object, old)
  row.prepareUpdate?.(object, old, context)
  const hasEmpty =
    row.countsEmpties === true &&
    row.counted?.some(name => hasEmpties(writtenMember(object, name))) === true
  const hasChanged = hadChanged || hasEmpty || hasAnyChanged()
  if (hasChanged) setGeneration(object, generationOf(old) + 1)
}

function dropGated(row: StrategyRow, object: JsonObject, old: JsonObject | undefined): void {
  if (row.podSpec !== undefined) dropGatedFieldsOfPod(row.podSpec, object, old)
  for (const path of row.gated ?? []) dropGatedField(path, object, old)
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
    dropGated(row, object, old)
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

/** The strategy of a resource that a definition declares. */
function customStrategy({ definition }: WriteKind, subresource: string): Strategy {
  const hasStatus = definition?.hasStatus === true
  return {
    needsVersion: true,
    onCreate: object => {
      if (hasStatus) object.delete('status')
      setGeneration(object, 1)
    },
    onUpdate: (object, old) => {
      if (textOf(object.get('apiVersion')) === '') {
        throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
      }
      if (subresource === 'status') {
        writeOnlyStatus(object, old)
        return
      }
      if (hasStatus) copyMember(object, old, 'status')
      if (!areEqual(contentsOf(object), contentsOf(old))) {
        setGeneration(object, generationOf(old) + 1)
      }
    },
  }
}

/** A custom resource without its metadata; what is empty is something there. */
function contentsOf(object: JsonObject): JsonObject {
  const contents = new Map(object)
  contents.delete('metadata')
  return contents
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
