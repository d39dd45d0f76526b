/** Writes the rows of a view as JSON. A row shows times and no ages, so it stays as it is as long
 *  as its object does, and is kept with it, in the budget of encoded objects. */

import { appendText, ByteWriter, noteEffort, NotExact } from '@watchglass/base'
import { keptOfEntry, type OutputForm, type Segment } from '@watchglass/codec'
import { goJsonString } from '@watchglass/go'
import { nameOfKey, namespaceOfKey, prefixOfNamespaces, uidField } from '@watchglass/kube'
import type { KeyValue, SegmentCache } from '@watchglass/store'
import { CellReader, type ObjectReaders } from '../cells/cell-reader.ts'
import { cellJson, shownCell } from '../cells/shown-cell.ts'
import type { ViewQuestion } from '../question/parse-view.ts'

export interface RowWriterOptions {
  readonly question: ViewQuestion
  readonly readers: ObjectReaders
  readonly segments: SegmentCache<Segment> | undefined
}

/** The bytes of an object that are written in the time of a small thing. */
const bytesPerEffort = 512

const out = new ByteWriter()

export class RowWriter {
  readonly #question: ViewQuestion
  readonly #readers: ObjectReaders
  readonly #segments: SegmentCache<Segment> | undefined
  readonly #cells: CellReader
  readonly #uids: ReturnType<ObjectReaders['makeReader']>
  readonly #namespacePrefix: ReturnType<typeof prefixOfNamespaces>
  /** The name of what is kept; undefined for rows that are not. */
  readonly #keptAs: string | undefined

  constructor({ question, readers, segments }: RowWriterOptions) {
    const { plan, columns, include } = question
    this.#question = question
    this.#readers = readers
    this.#segments = segments
    this.#cells = new CellReader(columns, plan, readers)
    this.#uids = readers.makeReader(plan.resource, [uidField], false)
    this.#namespacePrefix = prefixOfNamespaces(plan)
    // Clients make up columns of their own, and what runs shows for how long.
    const isKept = columns.every(
      ({ source, kind }) => source.type !== 'path' && kind !== 'duration',
    )
    if (!isKept || include === 'object') return
    const { encoder } = readers
    const form = encoder.segmentName({ ...formOf('object'), includeObject: 'None', now: 0 })
    this.#keptAs = `view ${include} ${columns.map(({ id }) => id).join(',')} ${form}`
  }

  /** The name of an entry's row among those of a page: its uid, or `namespace/name` of an object
   *  that has none. */
  nameOf(entry: KeyValue): string | NotExact {
    const uid = this.#uidOf(entry)
    if (uid !== '') return uid
    return `${namespaceOfKey(entry.key, this.#namespacePrefix)}/${nameOfKey(entry.key)}`
  }

  #uidOf(entry: KeyValue): string | NotExact {
    return this.#uids.read(entry) ?? this.#uids.field(uidField)
  }

  /** The row of an entry. `wallMs` is for durations. */
  row(entry: KeyValue, wallMs: number): Uint8Array | NotExact {
    const make = (): Uint8Array | NotExact => this.#make(entry, wallMs)
    if (this.#segments === undefined || this.#keptAs === undefined) return make()
    return keptOfEntry(entry, this.#keptAs, this.#segments, make)
  }

  #make(entry: KeyValue, wallMs: number): Uint8Array | NotExact {
    const cells = this.#cells.read(entry, wallMs)
    if (cells instanceof NotExact) return cells
    const uid = this.#uidOf(entry)
    if (uid instanceof NotExact) return uid
    const { columns, include } = this.#question
    const namespace = namespaceOfKey(entry.key, this.#namespacePrefix)
    const texts = columns.map(({ kind }, i) => cellJson(shownCell(kind, cells[i] ?? null)))
    const names = [`"name":${goJsonString(nameOfKey(entry.key))}`]
    if (namespace !== '') names.push(`"namespace":${goJsonString(namespace)}`)
    if (uid !== '') names.push(`"uid":${goJsonString(uid)}`)
    names.push(`"revision":"${entry.modRevision}"`)
    out.clear()
    appendText(out, `{${names.join(',')},"cells":[${texts.join(',')}]`)
    if (include !== 'none') {
      noteEffort(entry.valueLength / bytesPerEffort)
      out.appendAscii(',"object":')
      const problem = this.#readers.encoder.appendJson(out, entry, {
        form: { ...formOf(include), includeObject: 'None', now: wallMs },
        revision: entry.modRevision,
        place: 'alone',
      })
      if (problem !== undefined) return problem
    }
    out.appendByte(0x7d)
    return out.copy()
  }
}

function formOf(
  include: 'metadata' | 'object',
): Pick<OutputForm, 'encoding' | 'rendering' | 'renderingVersion'> {
  const rendering = include === 'object' ? 'object' : 'PartialObjectMetadata'
  return { encoding: 'json', rendering, renderingVersion: 'v1' }
}
