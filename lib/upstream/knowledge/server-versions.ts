/** The version of all servers of the upstream. There may be several servers behind one address, and while they are being replaced an answer
 *  may come from either version. So each address is asked repeatedly, each time over another connection, and a version is accepted when
 *  the last answers were all equal. */

import { objectOf, textOf } from '../../base/untyped.ts'

export interface ServerVersion {
  /** The minor version of the binary: it decides which fields there are, and how they are written. */
  readonly minor: number
  /** The minor version that it behaves as (`--emulated-version`), mostly the same. */
  readonly emulatedMinor: number
  /** Its whole /version document. */
  readonly text: string
}

/** If a third of the servers behind an address have another version, this many answers are equal by chance in 4 of 100 cases. */
const rememberedMax = 8

export class ServerVersions {
  /** The last answers of each server. */
  #answers: ServerVersion[][] = []

  /** Adds the answer of each server: undefined for those that did not answer. */
  take(documents: readonly unknown[]): void {
    this.#answers = documents.map((document, i) => {
      const version = document === undefined ? undefined : versionOf(document)
      const known = this.#answers[i] ?? []
      // A server that does not answer may be another one when it answers again.
      return version === undefined ? [] : [...known, version].slice(-rememberedMax)
    })
  }

  /** The version of all of them; undefined while it is not known, or while they differ. */
  get agreed(): ServerVersion | undefined {
    const [first, ...others] = this.#answers.flat()
    return others.every(({ text }) => text === first?.text) ? first : undefined
  }

  /** True if there are answers, and they differ. */
  get differ(): boolean {
    return this.agreed === undefined && this.#answers.flat().length > 0
  }

  /** True if each server was asked often enough. */
  get isSettled(): boolean {
    const isEnough = this.#answers.every(({ length }) => length === 0 || length === rememberedMax)
    return isEnough && this.agreed !== undefined
  }
}

/** Vendors write `29+`. Undefined for a text that is not a Kubernetes version. */
function versionOf(document: unknown): ServerVersion | undefined {
  const version = objectOf(document)
  const minor = numberOf(version['minor'])
  if (minor === undefined) return undefined
  const { emulationMinor } = version
  return {
    minor,
    emulatedMinor: numberOf(emulationMinor) ?? minor,
    text: JSON.stringify([version['gitVersion'], version['minor'], emulationMinor]),
  }
}

function numberOf(value: unknown): number | undefined {
  const digits = /^\d+/.exec(textOf(value))?.[0]
  return digits === undefined ? undefined : Number(digits)
}
