/** Writes an object that an aggregated API server has stored as JSON. Its Go types are unknown
 *  here, so the answer is the stored text with a resourceVersion, and only if the text is as Go
 *  writes it and the metadata as Go's ObjectMeta is written. Evidence, which compares with the
 *  server's answers, decides whether the server leaves the rest unchanged. */

import { type ByteWriter, NotExact } from '@watchglass/base'
import {
  apiVersionOf,
  appendDeclared,
  JsonMembers,
  type LearnedNames,
  type LearnedObjects,
  type LearnedOptions,
  type LearnedOutput,
  type StoredValue,
} from '@watchglass/codec'
import { isTypedMetadata } from './typed-metadata.ts'

export interface LearnedKindParts {
  /** As it is served: `wardle.example.com/v1`. */
  readonly apiVersion: string
  readonly storedApiVersion: string
  readonly kind: string
  /** Items of lists say what they are. Those of most servers do not. */
  readonly hasTypedItems: boolean
}

const oddMetadata = new NotExact('metadata is not as Go writes it')

export class LearnedKind implements LearnedObjects {
  readonly #parts: LearnedKindParts
  readonly #members = new JsonMembers()

  constructor(parts: LearnedKindParts) {
    this.#parts = parts
  }

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

/** The output that was learnt, with the writer that follows from it. */
export function learnedOutput(learnt: Omit<LearnedOutput, 'objectsOf'>): LearnedOutput {
  const { hasTypedItems } = learnt
  const objectsOf = (kind: LearnedNames): LearnedKind =>
    new LearnedKind({
      apiVersion: apiVersionOf(kind),
      storedApiVersion: apiVersionOf(kind.storage),
      kind: kind.kind,
      hasTypedItems,
    })
  return { ...learnt, objectsOf }
}
