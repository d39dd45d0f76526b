/** Of which version the servers of the upstream are: all of them, as far as can be seen. Behind one address there may be several, and while
 *  they are being replaced an answer may come from either version. So each server is asked again and again, each time over another
 *  connection, and its version is believed when the last answers were all alike. */

import { objectOf, textOf } from '../../base/untyped.ts'

export interface ServerVersion {
  /** The minor version of the binary: it decides which fields there are, and how they are written. */
  readonly minor: number
  /** The minor version that it behaves as (`--emulated-version`), mostly the same. */
  readonly emulatedMinor: number
  /** All that it says of itself. */
  readonly text: string
}

/** With a third of the servers behind an address of another version, so many answers are alike by chance in 4 of 100 cases. */
const rememberedMax = 8

export class ServerVersions {
  /** What each server has answered lately. */
  #answers: ServerVersion[][] = []

  /** Takes what each server has answered: undefined of those that have not. */
  take(documents: readonly unknown[]): void {
    this.#answers = documents.map((document, i) => {
      const version = document === undefined ? undefined : versionOf(document)
      const known = this.#answers[i] ?? []
      // A server that is away may be another one when it is back.
      return version === undefined ? [] : [...known, version].slice(-rememberedMax)
    })
  }

  /** What all of them are; undefined while that is not known, or they differ. */
  get agreed(): ServerVersion | undefined {
    const [first, ...others] = this.#answers.flat()
    return others.every(({ text }) => text === first?.text) ? first : undefined
  }

  /** There are answers, and they differ. */
  get differ(): boolean {
    return this.agreed === undefined && this.#answers.flat().length > 0
  }

  /** It has been asked often enough. */
  get isSettled(): boolean {
    const isEnough = this.#answers.every(({ length }) => length === 0 || length === rememberedMax)
    return isEnough && this.agreed !== undefined
  }
}

/** Vendors write `29+`. Undefined for what is no version of Kubernetes. */
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
