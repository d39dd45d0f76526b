/** The versions of the servers of the upstream. There may be several servers behind one address,
 *  and while they are being replaced an answer may come from either version. So each address is
 *  asked repeatedly, each time over another connection, and every version among its last answers
 *  counts. */

import { objectOf, textOf } from '@watchglass/base'
import type { Heard } from '../upstream/ask.ts'

export interface ServerVersion {
  /** Such as `v1.34.2`. */
  readonly name: string
  /** The minor version of the binary: it decides which fields there are, and how they are
   *  written. */
  readonly minor: number
  /** The minor version that it behaves as (`--emulated-version`), mostly the same. */
  readonly emulatedMinor: number
  /** Its whole /version document. */
  readonly text: string
}

/** If a third of the servers behind an address have another version, this many answers miss it in 2
 *  of 1,000 cases; if a fifth has, in 3 of 100. */
const rememberedMax = 16

export class ServerVersions {
  /** The last answers of each address. */
  #answers: ServerVersion[][] = []
  /** Kept, because every request asks. */
  #all: readonly ServerVersion[] = []
  #seen = ''
  #sinceChange = 0

  /** Adds what each address has said. While it has no answer, its last ones count; but if it is
   *  gone while others answer, requests go to these, and it may be another one when it is back. */
  take(heard: readonly Heard[]): void {
    const doOthersAnswer = heard.some(({ type }) => type !== 'unanswered')
    this.#answers = heard.map((one, i) => {
      const known = this.#answers[i] ?? []
      if (one.type === 'unanswered') return one.isGone && doOthersAnswer ? [] : known
      const version = one.type === 'none' ? undefined : versionOf(one.document)
      return version === undefined ? [] : [...known, version].slice(-rememberedMax)
    })
    this.#all = differentOf(this.#answers.flat())
    const seen = JSON.stringify(this.#all)
    this.#sinceChange = seen === this.#seen ? this.#sinceChange + 1 : 0
    this.#seen = seen
  }

  /** Each version that has answered lately, oldest first; none while nothing is known. */
  get all(): readonly ServerVersion[] {
    return this.#all
  }

  /** True if others have answered lately: answers of a server that is gone may still count. */
  get haveChanged(): boolean {
    return this.#sinceChange < rememberedMax && this.all.length > 0
  }

  /** True if there is one version, and each address was asked often enough. */
  get isSettled(): boolean {
    const isEnough = this.#answers.every(({ length }) => length === 0 || length === rememberedMax)
    return isEnough && this.all.length === 1
  }
}

function differentOf(versions: readonly ServerVersion[]): readonly ServerVersion[] {
  const byText = new Map(versions.map(version => [version.text, version]))
  return [...byText.values()].sort((a, b) => a.minor - b.minor || (a.text < b.text ? -1 : 1))
}

/** The version in a /version document. Vendors write `29+`. Undefined for a text that is not a
 *  Kubernetes version. */
export function versionOf(document: unknown): ServerVersion | undefined {
  const version = objectOf(document)
  const minor = numberOf(version['minor'])
  if (minor === undefined) return undefined
  const { emulationMinor } = version
  return {
    name: textOf(version['gitVersion']),
    minor,
    emulatedMinor: numberOf(emulationMinor) ?? minor,
    text: JSON.stringify([version['gitVersion'], version['minor'], emulationMinor]),
  }
}

function numberOf(value: unknown): number | undefined {
  const digits = /^\d+/.exec(textOf(value))?.[0]
  return digits === undefined ? undefined : Number(digits)
}
