/** The metadata of any stored object, protobuf or JSON, without a look at the rest of it: names, labels, annotations, owners,
 *  finalizers, times. Of what is asked, no more is decoded than that. */

import { NotExact } from '../not-exact.ts'
import { formatOf } from '../served/object-view.ts'
import { secondsFromText } from '../../go/time-text.ts'
import type { StoredValue } from '../served/view.ts'
import { JsonFieldReader } from './json-reader.ts'
import { compileFields } from './reader.ts'

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** It is the managing controller. */
  readonly isController: boolean
}

/** In the order of the slots of the JSON reader. */
const members = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
] as const

type Member = (typeof members)[number]

/** Holds one object at a time. */
export class MetadataReader {
  /** Metadata is the first field of every kind, so any kind will do. */
  readonly #protobuf = compileFields<Member>('core/v1.ConfigMap', pathsOfMembers())
  readonly #owner = compileFields('meta/v1.OwnerReference', {
    apiVersion: 'apiVersion',
    kind: 'kind',
    name: 'name',
    uid: 'uid',
    controller: 'controller',
  })
  readonly #json = new JsonFieldReader(members.map(member => ['metadata', member]))
  #isJson = false

  /** Goes to an object. A `NotExact` says why it cannot be read; then nothing else may be asked. */
  read(value: StoredValue): NotExact | undefined {
    const format = formatOf(value)
    if (format instanceof NotExact) return format
    this.#isJson = format === 'json'
    const reader = this.#isJson ? this.#json : this.#protobuf
    return reader.readStored(value.bytes, value.start, value.end)
      ? undefined
      : new NotExact('object is malformed')
  }

  get name(): string {
    return this.#text('name')
  }

  get generateName(): string {
    return this.#text('generateName')
  }

  get namespace(): string {
    return this.#text('namespace')
  }

  get uid(): string {
    return this.#text('uid')
  }

  get generation(): number {
    return Number(this.#text('generation'))
  }

  /** Seconds since 1970; undefined for the zero time. */
  get creationSeconds(): number | undefined {
    return this.#seconds('creationTimestamp')
  }

  /** The same for the time of deletion, which only objects that are being deleted have. */
  get deletionSeconds(): number | undefined {
    return this.#seconds('deletionTimestamp')
  }

  label(key: string): string | undefined {
    return this.#entry('labels', key)
  }

  labels(): Map<string, string> {
    return this.#entries('labels')
  }

  annotation(key: string): string | undefined {
    return this.#entry('annotations', key)
  }

  annotations(): Map<string, string> {
    return this.#entries('annotations')
  }

  finalizers(): string[] {
    if (this.#isJson) return listOf(this.#json.parsed(slotOf('finalizers'))).map(String)
    const slot = this.#protobuf.slot.finalizers
    return Array.from({ length: this.#protobuf.count(slot) }, (_, i) =>
      this.#protobuf.elementText(slot, i),
    )
  }

  ownerReferences(): OwnerReference[] {
    if (this.#isJson) {
      return listOf(this.#json.parsed(slotOf('ownerReferences'))).map(ownerFromParsed)
    }
    const owner = this.#owner
    const slot = this.#protobuf.slot.ownerReferences
    return Array.from({ length: this.#protobuf.count(slot) }, (_, i) => {
      owner.readElement(this.#protobuf, slot, i)
      return {
        apiVersion: owner.text(owner.slot.apiVersion),
        kind: owner.text(owner.slot.kind),
        name: owner.text(owner.slot.name),
        uid: owner.text(owner.slot.uid),
        isController: owner.boolean(owner.slot.controller),
      }
    })
  }

  #text(member: Member): string {
    return this.#isJson
      ? this.#json.scalarText(slotOf(member))
      : this.#protobuf.scalarText(this.#protobuf.slot[member])
  }

  #seconds(member: Member): number | undefined {
    if (this.#isJson) return secondsFromText(this.#text(member))?.seconds
    const slot = this.#protobuf.slot[member]
    return this.#protobuf.has(slot) ? this.#protobuf.integer(slot) : undefined
  }

  #entry(member: Member, key: string): string | undefined {
    return this.#isJson
      ? this.#json.mapText(slotOf(member), key)
      : this.#protobuf.mapText(this.#protobuf.slot[member], Buffer.from(key))
  }

  #entries(member: Member): Map<string, string> {
    return this.#isJson
      ? this.#json.mapTexts(slotOf(member))
      : this.#protobuf.mapTexts(this.#protobuf.slot[member])
  }
}

function pathsOfMembers(): Record<Member, string> {
  const paths = members.map(member => [member, `metadata.${member}`])
  return Object.fromEntries(paths) as Record<Member, string>
}

function slotOf(member: Member): number {
  return members.indexOf(member)
}

function listOf(parsed: unknown): readonly unknown[] {
  return Array.isArray(parsed) ? (parsed as unknown[]) : []
}

function ownerFromParsed(parsed: unknown): OwnerReference {
  const owner = (typeof parsed === 'object' ? parsed : undefined) as
    Readonly<Record<string, unknown>> | null | undefined
  const textOf = (name: string): string => {
    const text = owner?.[name]
    return typeof text === 'string' ? text : ''
  }
  return {
    apiVersion: textOf('apiVersion'),
    kind: textOf('kind'),
    name: textOf('name'),
    uid: textOf('uid'),
    isController: owner?.['controller'] === true,
  }
}
