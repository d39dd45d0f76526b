/** The validation of a built-in object as a write has it: decoded, with its defaults, prepared by
 *  its strategy, and then checked. */

import { Slice } from '../../../lib/base/slice.ts'
import { decodeBuiltIn } from '../../../lib/writes/decode/body.ts'
import type { FieldError } from '../../../lib/writes/field-errors.ts'
import { metadataOf } from '../../../lib/writes/metadata.ts'
import { strategyOf } from '../../../lib/writes/operations/strategy.ts'
import { validateBuiltIn } from '../../../lib/writes/validation/validate.ts'
import type { WriteKind } from '../../../lib/writes/write-kind.ts'
import { type JsonObject, textFromTree } from '../../../lib/go/json/tree.ts'
import { type MessageType, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { SlowClock } from '../fake-clock.ts'

export interface Checked {
  /** The path of its collection, such as `/api/v1/namespaces/t/pods`. */
  readonly path: string
  readonly object: { readonly kind: string }
  /** The object before an update. */
  readonly old?: object | undefined
  readonly subresource?: string | undefined
}

type BuiltInKind = WriteKind & { readonly type: MessageType }

const schema = schemaOf('1.36')
const kept = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds']
const allocator = { address: () => '10.0.0.7', port: () => 30007 }
const user = { user: 'u', uid: '', groups: [], extra: {} }
const numbers = {
  hasAddress: () => false,
  hasPort: () => false,
  isInRange: () => true,
  placed: (address: string) => address,
}
const context = { now: '2024-01-01T00:00:00Z', user, allocator, numbers, warn: () => {} }

/** The errors in the order in which they are found. */
export async function errorsOf(checked: Checked): Promise<FieldError[]> {
  const { kind, object, old } = await prepared(checked)
  return validateBuiltIn(kind, object, old, checked.subresource ?? '')
}

/** The object as it would be checked and stored: with its defaults, and what its strategy resets,
 *  keeps and counts. */
export async function preparedObject(checked: Checked): Promise<object> {
  const { object } = await prepared(checked)
  return JSON.parse(textFromTree(object)) as object
}

interface Prepared {
  readonly kind: BuiltInKind
  readonly object: JsonObject
  readonly old: JsonObject | undefined
}

async function prepared(checked: Checked): Promise<Prepared> {
  const kind = kindOf(checked)
  const object = await decoded(kind, checked.object)
  const metadata = metadataOf(object)
  if (typeof metadata.get('name') !== 'string') metadata.delete('name')
  if (kind.isNamespaced && !metadata.has('namespace')) metadata.set('namespace', 't')
  const strategy = strategyOf(kind, checked.subresource ?? '')
  const old = checked.old === undefined ? undefined : await decoded(kind, checked.old)
  if (old === undefined) {
    metadata.set('uid', 'x').set('creationTimestamp', context.now)
    const prefix = metadata.get('generateName')
    if (!metadata.has('name') && typeof prefix === 'string') metadata.set('name', `${prefix}12345`)
    strategy.onCreate(object, context)
  } else {
    for (const name of kept) {
      const value = metadataOf(old).get(name)
      if (value === undefined) metadata.delete(name)
      else metadata.set(name, value)
    }
    strategy.onUpdate(object, old, context)
  }
  return { kind, object, old }
}

function kindOf({ path, object: { kind } }: Checked): BuiltInKind {
  const parts = path.split('/').slice(2)
  const group = path.startsWith('/api/') ? '' : (parts.shift() ?? '')
  const [version = ''] = parts
  const apiVersion = group === '' ? version : `${group}/${version}`
  const found = schema.findKind(apiVersion, kind)
  if (found === undefined) throw new Error(`${apiVersion} has no ${kind}`)
  return {
    schema,
    group,
    version,
    apiVersion,
    kind,
    resource: parts.at(-1) ?? '',
    isNamespaced: path.includes('/namespaces/'),
    type: found.type,
    definition: undefined,
  }
}

async function decoded(kind: BuiltInKind, object: object): Promise<JsonObject> {
  const body = Buffer.from(JSON.stringify(object))
  const slice = new Slice(new SlowClock())
  return (await decodeBuiltIn(kind, { body, form: 'json', fieldValidation: 'Ignore' }, slice))
    .object
}
