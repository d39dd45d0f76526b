/** Values that are at hand, or have to be waited for. Most small reads are answered without
 *  waiting, and a promise for each of their steps takes as long as all steps together. */

export type Soon<T> = T | Promise<T>

/** The next step: at once if the value is at hand. */
export function soon<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
