/** Errors of expressions while they run. `||` and `&&` may swallow one, so they are made without
 *  a stack: to take one would cost more than the rule. */

export class CelError extends Error {}

/** The error with a message in cel-go's words. */
export function failure(message: string): CelError {
  const error = Object.create(CelError.prototype) as CelError
  error.message = message
  return error
}

/** No function takes values of these types. */
export function noOverload(name = ''): CelError {
  return failure(name === '' ? 'no such overload' : `no such overload: ${name}`)
}

/** The work of an expression has come to its limit: nothing swallows this. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}
