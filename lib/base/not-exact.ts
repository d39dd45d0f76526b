/** The answer where the exact one is beyond us. It is an outcome, not a failure: stored values come
 *  from other programs, newer servers among them, and the layers above pass such a request on
 *  instead of guessing. */

/** Why an object cannot be converted exactly. Returned, never thrown. */
export class NotExact {
  /** Lower case: the thing, and what about it. Names types and fields, never values of the
   *  object. */
  readonly reason: string
  /** The server's own answer, a 500, where it cannot show the object either. */
  readonly serverError: string | undefined

  constructor(reason: string, serverError?: string) {
    this.reason = reason
    this.serverError = serverError
  }
}

/** Thrown inside a conversion, and always caught at its entry, which returns `NotExact`. An
 *  exception spares every call a check; a single instance spares the stack trace. */
export class GiveUp extends Error {
  reason = ''
  /** The input repeats a message that decoders merge: merged first, it can be converted. */
  isRepeated = false
}

const signal = new GiveUp('conversion is not exact')

/** Ends the conversion as not exact. */
export function giveUp(reason: string): never {
  signal.reason = reason
  signal.isRepeated = false
  throw signal
}

/** Ends the conversion because a field that holds one message occurs again. */
export function giveUpOnRepetition(typeName: string): never {
  signal.reason = `${typeName} repeats a message`
  signal.isRepeated = true
  throw signal
}
