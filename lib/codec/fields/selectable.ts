/** Labels and selectable fields of one resource's stored objects, for label and field selectors.
 *
 *  A selector sees objects as the API serves them, so the defaults on read count: a Pod without a
 *  scheduler name is selected by `default-scheduler`, a custom resource by the defaults of its
 *  schema. What is not asked for is not read. */

import type { NotExact } from '@watchglass/base'
import type { Schema } from '../schema/schema.ts'
import type { CustomKind } from '../served/custom/custom.ts'
import type { LearnedObjects } from '../output-kind.ts'
import type { StoredValue } from '../stored-value.ts'

/** A field that selectors may name: the value of the first of `paths` that is not empty, else
 *  `fallback`. Paths are dotted names in the stored object; a dot inside a name is escaped by a
 *  backslash. Without paths, it is always the fallback. */
export interface SelectableField {
  readonly label: string
  readonly paths: readonly string[]
  readonly fallback: string
}

/** Which objects are read. */
export interface SelectableKind {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  /** The served version: `v1`. */
  readonly version: string
  /** Kind that objects are stored as; another version of it may occur. */
  readonly stored: { readonly apiVersion: string; readonly kind: string }
  /** Kind of custom resources, which reads them; undefined for all others. */
  readonly custom: CustomKind | undefined
  /** Objects of aggregated servers, as they were learnt. */
  readonly learned?: LearnedObjects | undefined
}

/** Reads one object at a time. */
export interface SelectableReader {
  /** Reads an object. A `NotExact` says why it cannot be read; then nothing else may be called. */
  read(value: StoredValue): NotExact | undefined
  /** The value of a label; undefined if the object has no such label. */
  label(key: string): string | undefined
  /** Calls back with the key of each label. */
  eachLabel(take: (key: string) => void): void
  /** The value of a field, which must be one that the reader was made for. */
  field(field: SelectableField): string
}
