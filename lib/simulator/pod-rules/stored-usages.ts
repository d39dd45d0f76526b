/** Rules of figures that clients have stored as kwok's ResourceUsage and ClusterResourceUsage, once
 *  their definitions are there. They name no files and run nothing. Logs, Attach, Exec and
 *  PortForward are not read from where clients write. */

import { allKeys, type KeyRange, objectOf, type UntypedObject } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import { PodRules, ruleApiVersion, type UsageRule } from './pod-rules.ts'
import { RuleProblem } from './rule-problem.ts'
import type { RuleSet } from './rule-set.ts'

/** Objects beyond are passed over: each figure looks at the rules of the whole cluster. */
const objectsMax = 1_000
const toldMax = 1_000

/** The contents of a keyspace now: the same object as long as nothing has changed. */
export interface Stored {
  iterate(range: KeyRange): Iterable<KeyValue>
}

export interface StoredUsagesOptions {
  /** The snapshots of `usageResources`, in their order; undefined for one that is not served. */
  readonly contents: () => readonly (Stored | undefined)[]
  readonly onProblem: (reason: string) => void
}

/** Resources of the group `kwok.x-k8s.io`. */
export const usageResources = ['resourceusages', 'clusterresourceusages'] as const

export class StoredUsages {
  readonly #options: StoredUsagesOptions
  readonly #told = new Set<string>()
  #read: readonly (Stored | undefined)[] = []
  #rules = emptyRules()

  constructor(options: StoredUsagesOptions) {
    this.#options = options
  }

  get rules(): RuleSet<UsageRule> {
    const contents = this.#options.contents()
    if (contents.some((one, i) => one !== this.#read[i])) {
      this.#read = contents
      this.#rules = this.#rulesIn(contents)
    }
    return this.#rules.usages
  }

  #rulesIn(contents: readonly (Stored | undefined)[]): PodRules {
    const rules = emptyRules()
    let count = 0
    for (const stored of contents) {
      for (const { value } of stored?.iterate(allKeys) ?? []) {
        if (++count > objectsMax) return rules
        const object = objectIn(value)
        if (object['apiVersion'] !== ruleApiVersion) continue
        try {
          rules.take(object)
        } catch (error) {
          if (!(error instanceof RuleProblem)) throw error
          this.#tell(error.message)
        }
      }
    }
    return rules
  }

  /** Says it once. */
  #tell(reason: string): void {
    if (this.#told.has(reason) || this.#told.size >= toldMax) return
    this.#told.add(reason)
    this.#options.onProblem(reason)
  }
}

function emptyRules(): PodRules {
  return new PodRules(() => {
    throw new RuleProblem('an object that clients write names a file')
  })
}

function objectIn(value: Uint8Array): UntypedObject {
  try {
    return objectOf(JSON.parse(Buffer.from(value).toString()))
  } catch {
    return {}
  }
}
