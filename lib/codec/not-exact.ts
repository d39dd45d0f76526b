/** The answer where the exact one is beyond us. It is an outcome, not a failure: stored values come from other programs, newer
 *  servers among them, and the layers above pass such a request on instead of guessing. */

/** Why an object cannot be converted exactly. Returned, never thrown. */
export class NotExact {
  /** Lower case: the thing, and what about it. Names types and fields, never values of the object. */
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}
