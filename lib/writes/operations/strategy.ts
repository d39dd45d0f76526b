/** The strategy of a resource: what a write resets, keeps and counts, as the page of its
 *  kind says. */

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
import { dropGatedField, dropGatedFieldsOfPod } from '../kinds/shared/gated-fields.ts'
import { kindServedAs } from '../kinds/index.ts'
import type {
  KindSource,
  KindTraits,
  PrepareCreate,
  PrepareUpdate,
  StrategyContext,
} from '../kinds/kind.ts'

export interface Strategy extends KindTraits {
  readonly onCreate: PrepareCreate
  readonly onUpdate: PrepareUpdate
}

/** The strategy of a resource, or of one of its subresources. */
export function strategyOf(kind: WriteKind, subresource: string): Strategy {
  if (kind.definition !== undefined) return customStrategy(kind, subresource)
  const source = kindServedAs(kind.resource, kind.group) ?? {}
  return {
    ...source,
    onCreate: (object, context) => prepareCreate(source, object, context),
    onUpdate:
      subresource === ''
        ? (object, old, context) => prepareUpdate(source, object, { old, context })
        : (object, old, context) =>
            prepareSubresource(source, object, { old, context, subresource }),
  }
}

function prepareCreate(source: StrategySource, object: JsonObject, context: StrategyContext): void {
  if (source.hasStatus === true && source.keepsStatus !== true) object.delete('status')
  if (source.counted !== undefined && source.keepsGeneration !== true) setGeneration(object, 1)
  dropGated(source, object, undefined)
  source.prepareCreate?.(object, context)
}

/** The part of a kind that strategies use. */
type StrategySource = KindTraits & Pick<KindSource, 'subresources'>

interface Update {
  readonly old: JsonObject
  readonly context: StrategyContext
}

function prepareUpdate(source: StrategySource, object: JsonObject, { old, context }: Update): void {
  if (source.hasStatus === true) copyMember(object, old, 'status')
  const hasAnyChanged = (): boolean =>
    source.counted?.some(name => hasMemberChanged(object, old, name)) === true
  const hadChanged = source.countsDropped === true && hasAnyChanged()
  dropGated(source, object, old)
  source.prepareUpdate?.(object, old, context)
  const hasEmpty =
    source.countsEmpties === true &&
    source.counted?.some(name => hasEmpties(writtenMember(object, name))) === true
  const hasChanged = hadChanged || hasEmpty || hasAnyChanged()
  if (hasChanged) setGeneration(object, generationOf(old) + 1)
}

function dropGated(source: StrategySource, object: JsonObject, old: JsonObject | undefined): void {
  if (source.podSpec !== undefined) dropGatedFieldsOfPod(source.podSpec, object, old)
  for (const path of source.gated ?? []) dropGatedField(path, object, old)
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
  source: StrategySource,
  object: JsonObject,
  { old, context, subresource }: Update & { readonly subresource: string },
): void {
  if (subresource === 'status') {
    copyMember(object, old, 'spec')
    if (source.keepsMetadata === true) keepMetadata(object, old)
    dropGated(source, object, old)
  }
  source.subresources?.[subresource]?.prepare?.(object, old, context)
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
