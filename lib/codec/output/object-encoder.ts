/** Writes the objects of a resource in every form: for lists, single answers and watches. Made once
 *  for a resource, and kept as long as it does not change. */

import { ByteWriter, inSlices, NotExact, type SliceClock, type Steps } from '@watchglass/base'
import { type CborType, cborFromJson } from './cbor.ts'
import { copyWithoutManagedFields, cutJson, cutMessage } from './cut-fields.ts'
import type { Gate } from './gate.ts'
import type { CustomKind } from '../served/custom/custom.ts'
import { appendEnvelope, findMetadata, hasEnvelope, readEnvelope } from '../transcode/envelope.ts'
import { appendPartialJson, appendPartialProtobuf, partialHead } from './metadata.ts'
import { appendPartialFromJson, findJsonMetadata, protobufMetadata } from './metadata-json.ts'
import type { MediaType, Rendering } from '../negotiate/negotiate.ts'
import {
  type ViewedKind,
  appendObject,
  appendObjectProtobuf,
  formatOf,
  servedProtobuf,
} from '../served/object-view.ts'
import { type CustomColumn, type OutputKind, apiVersionOf } from '../output-kind.ts'
import type { TableColumn } from '../table/column-kinds.ts'
import { exactly } from '../table/format.ts'
import type { Cell } from '../table/printer.ts'
import { CustomPrinter } from '../table/printers/custom.ts'
import { type Row, type Table, appendRowMembers, tableOf } from '../table/table.ts'
import { normaliseStored } from '../served/stored/normalise.ts'
import { prepareView } from '../served/view.ts'
import { type StoredValue } from '../stored-value.ts'
import { yamlFromJson, yamlItemFromJson } from './yaml.ts'

/** The part of its object that a row of a Table carries. */
export type IncludedObject = 'None' | 'Metadata' | 'Object'

/** The value of the parameter `includeObject`; undefined for one that is refused. */
export function includedObject(value: string): IncludedObject | undefined {
  if (value === '') return 'Metadata'
  return value === 'None' || value === 'Metadata' || value === 'Object' ? value : undefined
}

/** The form in which objects are shown. */
export interface OutputForm extends Pick<MediaType, 'encoding' | 'rendering' | 'renderingVersion'> {
  /** Objects are shown without their managed fields. */
  readonly drops?: true | undefined
  readonly includeObject: IncludedObject
  /** The wall clock in milliseconds: ages are shown in Tables. */
  readonly now: number
  /** Decides which objects may be shown, where an upstream must have shown them in the same way;
   *  without one, all may be. */
  readonly gate?: Gate | undefined
  /** Not the object, but the Scale that is made of it. */
  readonly subresource?: 'scale' | undefined
}

/** Options of one object's text. */
export interface ObjectOptions {
  readonly form: OutputForm
  /** Revision of the object; of the change where it was deleted. */
  readonly revision: number
  /** Alone, or among the items of a list, where built-in kinds do not say what they are. */
  readonly place: 'alone' | 'item'
}

/** Reads the cells of an object, which is shown at a revision. */
export type ReadCells = (object: StoredValue, revision: number) => readonly Cell[] | NotExact

/** All methods append an object to a writer, or say why they cannot do so exactly, and append
 *  nothing. */
export class ObjectEncoder {
  readonly kind: OutputKind
  readonly #served: ViewedKind
  /** Stored as JSON, but as no custom resource: its protobuf form is made first, and everything
   *  from that. */
  readonly #isConverted: boolean
  readonly #storedVersion: string
  readonly #isMetadataFromWhole: boolean
  /** A built-in kind. */
  readonly #isTyped: boolean
  readonly #lostAnnotations: readonly string[]
  readonly #cborType: CborType
  #table: Table | undefined
  #isPrepared: boolean
  #preparing: Promise<void> | undefined

  /** `custom` reads the objects of a custom resource, and of no other. */
  constructor(kind: OutputKind, custom: CustomKind | undefined) {
    this.kind = kind
    const learned = kind.learned?.objectsOf(kind)
    const isUntyped = custom !== undefined || learned !== undefined
    this.#served = {
      schema: kind.schema,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      custom,
      learned,
    }
    this.#isTyped = !isUntyped
    this.#isConverted = !isUntyped && kind.storage.encoding === 'json'
    this.#isPrepared = isUntyped || this.#isConverted
    const { group, version } = kind.storage
    this.#storedVersion = group === '' ? version : `${group}/${version}`
    this.#isMetadataFromWhole = isUntyped || filledMetadata.includes(kind.kind)
    this.#lostAnnotations = (isUntyped ? undefined : lostAnnotations[kind.kind]) ?? []
    this.#cborType = isUntyped
      ? undefined
      : kind.schema.findKind(this.#served.apiVersion, kind.kind)?.type
  }

  get table(): Table {
    this.#table ??= tableOf(this.kind)
    return this.#table
  }

  /** The columns of `cells`. */
  get columns(): readonly TableColumn[] {
    return this.table.columns
  }

  /** The cells of an object's row as what they are: times in place of ages, and durations in
   *  milliseconds. `now` is the wall clock, on which the durations of what still runs depend. */
  cells(object: StoredValue, revision: number, now: number): readonly Cell[] | NotExact {
    const source = this.#isTyped ? this.#typedSource(object) : this.#wholeObject(object, revision)
    if (source instanceof NotExact) return source
    const row = exactly(() => this.table.row(source, now))
    return row instanceof NotExact ? row : row.cells
  }

  /** Reads columns that somebody asks for of objects as they are served. Their paths are
   *  checked. */
  readerOf(columns: readonly CustomColumn[]): ReadCells {
    const printer = new CustomPrinter(columns)
    return (object, revision) => {
      const whole = this.#wholeObject(object, revision)
      if (whole instanceof NotExact) return whole
      const cells = exactly(() => printer.cells(whole, 0))
      return cells instanceof NotExact ? cells : cells.slice(1)
    }
  }

  /** The name under which written items are kept: equal for lists that write objects in the same
   *  way. */
  segmentName({ encoding, rendering, renderingVersion, gate, drops }: OutputForm): string {
    const { schema, custom, learned } = this.kind
    const made = custom?.definedAt ?? learned?.generation ?? ''
    const versions = `${schema.minor} ${this.#served.apiVersion} ${made}`
    const name = rendering === 'object' ? versions : `${versions} ${renderingVersion}`
    const how = drops === undefined ? encoding : `dropped ${encoding}`
    return gate === undefined ? `${how} ${name}` : `${how} ${name} ${gate.name}`
  }

  /** Compiles what writes whole objects, in slices: the first of a large kind would take 15 ms and
   *  more. Undefined once that has been done. */
  prepare(
    { encoding, rendering }: Pick<OutputForm, 'encoding' | 'rendering'>,
    clock: SliceClock,
  ): Promise<void> | undefined {
    if (this.#isPrepared || encoding === 'protobuf' || rendering !== 'object') return undefined
    this.#preparing ??= inSlices(this.#steps(), clock)
    return this.#preparing
  }

  *#steps(): Steps<void> {
    const { schema, storage } = this.kind
    yield* prepareView(schema, this.#storedVersion, storage.kind)
    this.#isPrepared = true
  }

  /** An object, its metadata or its row. In YAML an item, or a document; in CBOR bare; in protobuf
   *  with its envelope, or the bare message of an item. JSON has no line feed behind it. */
  append(out: ByteWriter, object: StoredValue, options: ObjectOptions): NotExact | undefined {
    const { encoding, rendering } = options.form
    if (encoding === 'protobuf') {
      const source = this.#lighter(object, options)
      return options.form.drops === undefined || source !== object
        ? this.#appendProtobuf(out, source, options)
        : this.#appendCutProtobuf(out, object, options)
    }
    if (encoding === 'json') return this.appendJson(out, object, options)
    json.clear()
    const problem = this.appendJson(json, object, options)
    if (problem !== undefined) return problem
    const text = json.bytes.subarray(0, json.length)
    const written =
      encoding === 'cbor'
        ? cborFromJson(text, this.cborType(rendering), 'bare')
        : options.place === 'item'
          ? yamlItemFromJson(text)
          : yamlFromJson(text)
    if (written instanceof NotExact) return written
    out.append(written)
    return undefined
  }

  /** A stored built-in object without its managed fields, if they are dropped: to encode them takes
   *  longer than to leave them out. The same object if it has none, or more than can be left out.
   *  Valid until the next call. */
  #lighter(object: StoredValue, { form }: ObjectOptions): StoredValue {
    if (form.drops === undefined || !this.#isTyped) return object
    light.clear()
    if (!copyWithoutManagedFields(light, object)) return object
    const { buffer } = light.bytes
    // Stored values lie in Buffers: another kind of array has V8 compile what reads them anew.
    if (lightBytes.buffer !== buffer) lightBytes = Buffer.from(buffer)
    return { bytes: lightBytes, start: 0, end: light.length }
  }

  /** Appends the object as JSON, whatever the encoding of the form. */
  appendJson(out: ByteWriter, object: StoredValue, options: ObjectOptions): NotExact | undefined {
    const from = out.length
    const { drops, rendering } = options.form
    const source = this.#lighter(object, options)
    const problem = this.#appendWholeJson(out, source, options)
    if (problem !== undefined || drops === undefined || source !== object) return problem
    return cutJson(out, from, rendering === 'Table' ? 'row' : 'object')
  }

  #appendWholeJson(
    out: ByteWriter,
    object: StoredValue,
    options: ObjectOptions,
  ): NotExact | undefined {
    const { form: output, revision, place } = options
    if (output.rendering === 'Table') return this.#appendRow(out, object, options)
    if (output.rendering !== 'object') return this.#appendPartialJson(out, object, options)
    const resourceVersion = versionText(revision)
    return appendObject(out, object, this.#served, { resourceVersion, isItem: place === 'item' })
  }

  /** Which texts of the JSON are bytes. */
  cborType(rendering: Rendering): CborType {
    if (rendering === 'object') return this.#cborType
    if (rendering !== 'Table') return undefined
    return { everyMember: undefined, members: { object: this.#cborType } }
  }

  #appendProtobuf(
    out: ByteWriter,
    object: StoredValue,
    { form: output, revision, place }: ObjectOptions,
  ): NotExact | undefined {
    const isItem = place === 'item'
    const resourceVersion = versionText(revision)
    if (output.rendering === 'object') {
      return appendObjectProtobuf(out, object, this.#served, { resourceVersion, isItem })
    }
    const metadata = this.#metadataProtobuf(object, revision)
    if (metadata instanceof NotExact) return metadata
    const { schema } = this.kind
    const options = { schema, resourceVersion, lostAnnotations: this.#lostAnnotations }
    if (isItem) return appendPartialProtobuf(out, metadata, options)
    message.clear()
    const problem = appendPartialProtobuf(message, metadata, options)
    if (problem !== undefined) return problem
    const apiVersion = `meta.k8s.io/${output.renderingVersion}`
    appendEnvelope(out, { apiVersion, kind: 'PartialObjectMetadata' }, message)
    return undefined
  }

  #appendCutProtobuf(
    out: ByteWriter,
    object: StoredValue,
    options: ObjectOptions,
  ): NotExact | undefined {
    bare.clear()
    const problem =
      this.#appendProtobuf(bare, object, { ...options, place: 'item' }) ?? cutMessage(bare, 0)
    if (problem !== undefined) return problem
    if (options.place === 'item') {
      out.append(bare.bytes, 0, bare.length)
      return undefined
    }
    const { rendering, renderingVersion } = options.form
    const isWhole = rendering === 'object'
    const apiVersion = isWhole ? this.#served.apiVersion : `meta.k8s.io/${renderingVersion}`
    const kind = isWhole ? this.#served.kind : 'PartialObjectMetadata'
    appendEnvelope(out, { apiVersion, kind }, bare)
    return undefined
  }

  #metadataProtobuf(object: StoredValue, revision: number): StoredValue | NotExact {
    if (!this.#isMetadataFromWhole) return this.#findMetadata(object)
    if (this.#isTyped) return this.#filledMetadata(object)
    const whole = this.#wholeObject(object, revision, 'metadata')
    if (whole instanceof NotExact) return whole
    const metadata = findJsonMetadata(whole)
    return metadata instanceof NotExact ? metadata : protobufMetadata(metadata)
  }

  #appendPartialJson(
    out: ByteWriter,
    object: StoredValue,
    { form: output, revision }: ObjectOptions,
  ): NotExact | undefined {
    if (this.#isMetadataFromWhole) {
      const whole = this.#wholeObject(object, revision, 'metadata')
      return whole instanceof NotExact
        ? whole
        : this.#appendWholePartial(out, whole, options(revision, output))
    }
    const source = this.#typedSource(object)
    if (source instanceof NotExact) return source
    return this.#appendTypedPartial(out, source, options(revision, output))
  }

  #appendTypedPartial(
    out: ByteWriter,
    source: StoredValue,
    { resourceVersion, version }: ReturnType<typeof options>,
  ): NotExact | undefined {
    const metadata = metadataOf(source)
    if (metadata instanceof NotExact) return metadata
    const lostAnnotations = this.#lostAnnotations
    const { schema } = this.kind
    return appendPartialJson(out, metadata, { schema, resourceVersion, version, lostAnnotations })
  }

  #appendRow(out: ByteWriter, object: StoredValue, row: ObjectOptions): NotExact | undefined {
    const { form: output, revision } = row
    const isCustom = this.#served.custom !== undefined || this.#served.learned !== undefined
    const source = isCustom ? this.#wholeObject(object, revision) : this.#typedSource(object)
    if (source instanceof NotExact) return source
    const cells = this.table.row(source, output.now)
    if (cells instanceof NotExact) return cells
    const from = out.length
    openRow(out, cells)
    let problem: NotExact | undefined
    if (output.includeObject === 'None') out.appendAscii('null')
    else if (output.includeObject === 'Object') {
      problem = appendObject(out, object, this.#served, alone(revision))
    } else if (isCustom) problem = this.#appendWholePartial(out, source, options(revision, output))
    else if (this.#isMetadataFromWhole) problem = this.#appendPartialJson(out, object, row)
    else problem = this.#appendTypedPartial(out, source, options(revision, output))
    if (problem === undefined) out.appendByte(0x7d)
    else out.length = from
    return problem
  }

  /** The metadata of a kind of which the server fills in some. */
  #filledMetadata(object: StoredValue): StoredValue | NotExact {
    served.clear()
    const options = { resourceVersion: '', isItem: true }
    const problem = appendObjectProtobuf(served, object, this.#served, options)
    return problem ?? findMetadata(served.bytes, 0, served.length)
  }

  #findMetadata(object: StoredValue): StoredValue | NotExact {
    const source = this.#typedSource(object)
    return source instanceof NotExact ? source : metadataOf(source)
  }

  /** The protobuf that metadata and cells of a built-in kind are read from. The server takes both
   *  from its internal objects, so the stored version serves as well. */
  #typedSource(object: StoredValue): StoredValue | NotExact {
    if (this.#isConverted) return servedProtobuf(object, this.#served) ?? noProtobuf
    const { bytes, start, end } = object
    if (hasEnvelope(bytes, start, end)) {
      const envelope = readEnvelope(bytes, start, end)
      if (envelope instanceof NotExact || envelope.apiVersion === this.#storedVersion) return object
    } else {
      const format = formatOf(object)
      if (format instanceof NotExact) return format
    }
    return normaliseStored(object, this.#served)
  }

  /** The metadata of an object as it is served. Go has written that of a built-in kind in its
   *  order. */
  #appendWholePartial(
    out: ByteWriter,
    whole: StoredValue,
    { resourceVersion, version }: ReturnType<typeof options>,
  ): NotExact | undefined {
    const metadata = findJsonMetadata(whole)
    if (metadata instanceof NotExact) return metadata
    if (this.#served.custom !== undefined) {
      return appendPartialFromJson(out, metadata, { resourceVersion, version })
    }
    out.append(partialHead[version])
    out.append(metadata.bytes, metadata.start, metadata.end)
    out.appendByte(0x7d)
    return undefined
  }

  /** An object as it is served, as what is stored need not be what the server makes of it. Valid
   *  until the next call. */
  #wholeObject(object: StoredValue, revision: number, part?: 'metadata'): StoredValue | NotExact {
    served.clear()
    const problem = appendObject(served, object, this.#served, { ...alone(revision), part })
    return problem ?? { bytes: served.bytes, start: 0, end: served.length }
  }
}

/** The metadata of an object in protobuf. */
function metadataOf({ bytes, start, end }: StoredValue): StoredValue | NotExact {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  return findMetadata(bytes, envelope.rawStart, envelope.rawEnd)
}

function alone(revision: number): { resourceVersion: string; isItem: boolean } {
  return { resourceVersion: versionText(revision), isItem: false }
}

function options(
  revision: number,
  { renderingVersion: version }: OutputForm,
): { resourceVersion: string; version: OutputForm['renderingVersion'] } {
  return { resourceVersion: versionText(revision), version }
}

/** An object of a dry run is at no revision, and has no resourceVersion. */
function versionText(revision: number): string {
  return revision === 0 ? '' : String(revision)
}

/** `{"cells":[...],"object":` */
export function openRow(out: ByteWriter, row: Row): void {
  out.appendByte(0x7b)
  appendRowMembers(out, row)
  out.appendAscii(',"object":')
}

const noProtobuf = new NotExact('custom resources have no protobuf form')

const json = new ByteWriter()
const bare = new ByteWriter()
const light = new ByteWriter()
let lightBytes: Buffer = Buffer.alloc(0)
const message = new ByteWriter()
const served = new ByteWriter()

/** Kinds whose metadata the server fills in from the rest of the object: a namespace's name, the
 *  labels of a template. */
const filledMetadata: readonly string[] = ['Job', 'Namespace', 'ReplicationController']

/** Annotations that the server keeps as fields of its internal objects, or drops from them. */
const lostAnnotations: Readonly<Record<string, readonly string[]>> = {
  DaemonSet: ['deprecated.daemonset.template.generation'],
  Deployment: ['deprecated.deployment.rollback.to'],
  HorizontalPodAutoscaler: [
    'autoscaling.alpha.kubernetes.io/behavior',
    'autoscaling.alpha.kubernetes.io/conditions',
    'autoscaling.alpha.kubernetes.io/current-metrics',
    'autoscaling.alpha.kubernetes.io/metrics',
    'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
    'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
  ],
}
