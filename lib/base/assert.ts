/** Assertions state what must hold whatever etcd, a client or an upstream does. One that fails is a
 *  bug of ours: it is never caught, and the process exits. What the outside world can cause is a
 *  `CacheError`. */

/** Throws `AssertionError` unless `condition` holds. Cheap enough to stay on in production. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** The default branch of a switch over a closed union: it does not compile when a case is
 *  missing. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable value: ${String(value)}`)
}

/** A bug of ours. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}
