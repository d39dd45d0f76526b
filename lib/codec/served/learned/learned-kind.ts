/** What an aggregated API server serves of an object that it has stored as JSON. Its Go types are unknown here, so what is answered is
 *  the stored text with a resourceVersion, and only where the text is as Go writes it and the metadata is as Go's own type of it is
 *  written. Whether the server leaves the rest alone as well is for evidence to say, which compares with what the server answers. */

import type { ByteWriter } from '../../output/byte-writer.ts'
import { appendDeclared } from '../../json/declared.ts'
import { JsonMembers } from '../../json/members.ts'
import { NotExact } from '../../not-exact.ts'
import type { StoredValue } from '../view.ts'
import { isTypedMetadata } from './typed-metadata.ts'

export interface LearnedKindParts {
  /** As it is served: `wardle.example.com/v1`. */
  readonly apiVersion: string
  readonly storedApiVersion: string
  readonly kind: string
  /** Items of lists say what they are. Those of most servers do not. */
  readonly hasTypedItems: boolean
}

export interface LearnedOptions {
  /** Becomes `metadata.resourceVersion`; digits. */
  readonly resourceVersion: string
  readonly isItem: boolean
}

const oddMetadata = new NotExact('metadata is not as Go writes it')

export class LearnedKind {
  readonly #parts: LearnedKindParts
  readonly #members = new JsonMembers()

  constructor(parts: LearnedKindParts) {
    this.#parts = parts
  }

  /** Appends the object, without a newline; or says why that cannot be done exactly, and appends nothing. */
  append(
    out: ByteWriter,
    value: StoredValue,
    { resourceVersion, isItem }: LearnedOptions,
  ): NotExact | undefined {
    const problem = this.checkMetadata(value)
    if (problem !== undefined) return problem
    const { hasTypedItems, ...kind } = this.#parts
    return appendDeclared(out, value, {
      ...kind,
      resourceVersion,
      isItem: isItem && !hasTypedItems,
    })
  }

  /** Why the object's labels and names may be served as others than those that are stored. */
  checkMetadata(value: StoredValue): NotExact | undefined {
    const members = this.#members
    members.reset(value.bytes, value.start, value.end)
    let count = 0
    while (members.next()) {
      if (!members.isNamed('metadata')) continue
      count++
      const { bytes, start, end } = members
      if (!isTypedMetadata({ bytes, start, end })) return oddMetadata
    }
    return count === 1 && !members.isMalformed ? undefined : oddMetadata
  }
}
