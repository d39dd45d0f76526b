/** Reads labels and selectable fields of one resource's stored objects, whatever form they are
 *  stored in. */

import { readEnvelope } from '../transcode/envelope.ts'
import { NotExact } from '@watchglass/base'
import type { MessageType } from '../schema/schema.ts'
import { formatOf } from '../served/object-view.ts'
import { isNormalised, normaliseStored } from '../served/stored/normalise.ts'
import type { StoredValue } from '../stored-value.ts'
import { CustomSelectable } from './custom-selectable.ts'
import { type FieldReader, compileFields } from './reader.ts'

import type { SelectableField, SelectableKind, SelectableReader } from './selectable.ts'

/** A reader of those fields, and of labels if `hasLabels`. Made once for a request or an index: it
 *  compiles its paths. */
export function createSelectableReader(
  kind: SelectableKind,
  fields: readonly SelectableField[],
  hasLabels: boolean,
): SelectableReader {
  const json = new CustomSelectable(kind, fields)
  const protobuf = new ProtobufSelectable(kind, fields, hasLabels)
  const stored = { ...kind.stored, schema: kind.schema }
  let current: SelectableReader = protobuf
  return {
    read(value) {
      const format = formatOf(value)
      if (format instanceof NotExact) return format
      current = protobuf
      if (format === 'protobuf') return protobuf.read(value)
      if (kind.custom === undefined && kind.learned === undefined && isNormalised(stored)) {
        const normal = normaliseStored(value, stored)
        return normal instanceof NotExact ? normal : protobuf.read(normal)
      }
      current = json
      return json.read(value)
    },
    label: key => current.label(key),
    eachLabel: take => current.eachLabel(take),
    field: field => current.field(field),
  }
}

/** A path of a field in a protobuf object. */
interface ProtobufPath {
  readonly slot: number
  /** Value that the server fills in on read. */
  readonly whenEmpty: string
}

/** The reader of objects that are stored as one apiVersion and kind. */
interface ProtobufForm {
  readonly reader: FieldReader<string>
  readonly labels: number
  /** The labels of the template, which the object takes while it has none itself; -1 where that is
   *  not so. */
  readonly templateLabels: number
  /** Slot of the name, which is a label of each namespace; -1 for others. */
  readonly nameLabel: number
  readonly paths: ReadonlyMap<SelectableField, readonly ProtobufPath[]>
}

class ProtobufSelectable implements SelectableReader {
  readonly #kind: SelectableKind
  readonly #fields: readonly SelectableField[]
  readonly #hasLabels: boolean
  /** Usual beginning of an envelope, so that it need not be read. */
  readonly #usualStart: Buffer
  readonly #forms = new Map<string, ProtobufForm | NotExact>()
  #usual: ProtobufForm | NotExact | undefined
  #current: ProtobufForm | undefined
  /** Keys that were asked for, in UTF-8. Begun anew when there are many: clients make them up. */
  #keys = new Map<string, Uint8Array>()

  constructor(kind: SelectableKind, fields: readonly SelectableField[], hasLabels: boolean) {
    this.#kind = kind
    this.#fields = fields
    this.#hasLabels = hasLabels
    this.#usualStart = envelopeStart(kind.stored.apiVersion, kind.stored.kind)
  }

  read(value: StoredValue): NotExact | undefined {
    const form = this.#formOf(value)
    if (form instanceof NotExact) return form
    this.#current = form
    if (form.reader.readStored(value.bytes, value.start, value.end)) return undefined
    return new NotExact('object is malformed')
  }

  label(key: string): string | undefined {
    const form = this.#current
    if (form === undefined) return undefined
    let bytes = this.#keys.get(key)
    if (bytes === undefined) {
      bytes = Buffer.from(key)
      if (this.#keys.size === keysMax) this.#keys = new Map()
      this.#keys.set(key, bytes)
    }
    const { reader, nameLabel } = form
    if (nameLabel >= 0 && key === namespaceNameLabel) return reader.text(nameLabel)
    return reader.mapText(labelsSlot(form), bytes)
  }

  eachLabel(take: (key: string) => void): void {
    const form = this.#current
    if (form === undefined) return
    if (form.nameLabel >= 0) take(namespaceNameLabel)
    form.reader.eachMapKey(labelsSlot(form), take)
  }

  field(field: SelectableField): string {
    for (const { slot, whenEmpty } of this.#current?.paths.get(field) ?? []) {
      const text = this.#current?.reader.scalarText(slot) || whenEmpty
      if (text !== '') return text
    }
    return field.fallback
  }

  #formOf(value: StoredValue): ProtobufForm | NotExact {
    const { apiVersion, kind } = this.#kind.stored
    if (beginsWith(value, this.#usualStart)) {
      this.#usual ??= this.#compile(apiVersion, kind)
      return this.#usual
    }
    const envelope = readEnvelope(value.bytes, value.start, value.end)
    if (envelope instanceof NotExact) return envelope
    if (envelope.kind !== kind) return new NotExact('stored value is of another kind')
    let form = this.#forms.get(envelope.apiVersion)
    if (form === undefined) {
      form = this.#compile(envelope.apiVersion, kind)
      this.#forms.set(envelope.apiVersion, form)
    }
    return form
  }

  #compile(apiVersion: string, kind: string): ProtobufForm | NotExact {
    const type = this.#kind.schema.findKind(apiVersion, kind)?.type
    if (type === undefined) return new NotExact('no schema of the stored kind')
    const paths = [...new Set(this.#fields.flatMap(field => field.paths))]
    const named = Object.fromEntries(paths.map(path => [path, path]))
    const labels = this.#hasLabels ? labelPaths(kind) : {}
    try {
      const reader = compileFields<string>(type.name, { ...named, ...labels }, name =>
        type.schema.findMessageType(name),
      )
      const slotOf = (path: string): ProtobufPath => ({
        slot: reader.slot[path] as number,
        whenEmpty: defaultOnRead(type, kind, path),
      })
      return {
        reader,
        labels: reader.slot[' labels'] ?? -1,
        templateLabels: reader.slot[' template labels'] ?? -1,
        nameLabel: reader.slot[' name'] ?? -1,
        paths: new Map(this.#fields.map(field => [field, field.paths.map(slotOf)])),
      }
    } catch {
      return new NotExact(`${type.name} lacks a selectable field`)
    }
  }
}

/** More than the requirements of a selector. */
const keysMax = 1_000

function labelsSlot({ reader, labels, templateLabels }: ProtobufForm): number {
  return templateLabels >= 0 && reader.count(labels) === 0 ? templateLabels : labels
}

/** The paths that labels are read from. The server fills in those of some kinds on every read. */
function labelPaths(kind: string): Record<string, string> {
  const own = { ' labels': 'metadata.labels' }
  switch (kind) {
    case 'Job':
    case 'ReplicationController':
      return { ...own, ' template labels': 'spec.template.metadata.labels' }
    case 'Namespace':
      return { ...own, ' name': 'metadata.name' }
    default:
      return own
  }
}

const namespaceNameLabel = 'kubernetes.io/metadata.name'

/** The text that the server puts in place of an empty field on every read. */
function defaultOnRead(type: MessageType, kind: string, path: string): string {
  const segments = path.split('.')
  const name = segments.pop() ?? ''
  const { schema } = type
  let parent = type.name
  for (const segment of segments) {
    const fields = schema.findMessageType(parent)?.fields ?? []
    const field = fields.find(({ jsonName }) => jsonName === segment)
    // A default inside a message that may be absent does not always apply.
    if (field === undefined || field.isPointer || field.container !== 'single') return ''
    parent = field.type
  }
  const rule = schema.readDefaults.find(
    found =>
      found.type === parent &&
      found.field === name &&
      found.when === undefined &&
      found.path === undefined &&
      (found.root === undefined || found.root === kind),
  )
  return typeof rule?.value === 'string' ? rule.value : ''
}

/** The magic and the type at the start of a stored value, as every kube-apiserver writes them. */
function envelopeStart(apiVersion: string, kind: string): Buffer {
  return Buffer.concat([
    Buffer.from('k8s\0'),
    Buffer.of(0x0a, apiVersion.length + kind.length + 4, 0x0a, apiVersion.length),
    Buffer.from(apiVersion),
    Buffer.of(0x12, kind.length),
    Buffer.from(kind),
  ])
}

function beginsWith({ bytes, start, end }: StoredValue, wanted: Uint8Array): boolean {
  if (end - start < wanted.length) return false
  for (let i = 0; i < wanted.length; i++) {
    if (bytes[start + i] !== wanted[i]) return false
  }
  return true
}
