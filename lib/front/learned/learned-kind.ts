/** Writes an object that an aggregated API server has stored as JSON. Its Go types are unknown here, so the answer is the stored text
 *  with a resourceVersion, and only if the text is as Go writes it and the metadata as Go's ObjectMeta is written. Evidence, which
 *  compares with the server's answers, decides whether the server leaves the rest unchanged. */

import type { ByteWriter } from '../../codec/output/byte-writer.ts'
import { apiVersionOf, type OutputKind } from '../../codec/output/output-kind.ts'
import { appendDeclared } from '../../codec/json/declared.ts'
import { JsonMembers } from '../../codec/json/members.ts'
import { NotExact } from '../../codec/not-exact.ts'
import type { StoredValue } from '../../codec/served/view.ts'
import type { LearnedOutput } from './learned-output.ts'
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

/** The kind as the server writes it, by what was learnt. */
export function learnedKindOf(
  kind: Omit<OutputKind, 'schema'>,
  learned: LearnedOutput,
): LearnedKind {
  return new LearnedKind({
    apiVersion: apiVersionOf(kind),
    storedApiVersion: apiVersionOf(kind.storage),
    kind: kind.kind,
    hasTypedItems: learned.hasTypedItems,
  })
}
