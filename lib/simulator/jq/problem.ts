/** An expression that cannot be used: it is wrong, or has something that is not understood here. */
export class JqProblem extends Error {
  constructor(what: string, source: string) {
    super(`jq expression ${JSON.stringify(source)}: ${what}`)
  }
}
