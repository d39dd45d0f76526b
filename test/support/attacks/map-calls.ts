/** The number of times that maps are asked for an entry, or given one, while something is done: its
 *  work, whatever the machine. */
export function mapCalls(name: 'get' | 'set', work: () => void): number {
  const own = Object.getOwnPropertyDescriptor(Map.prototype, name)!
  const method = own.value as (...args: unknown[]) => unknown
  let count = 0
  const value = function (this: unknown, ...args: unknown[]): unknown {
    count++
    return Reflect.apply(method, this, args)
  }
  Object.defineProperty(Map.prototype, name, { ...own, value })
  try {
    work()
  } finally {
    Object.defineProperty(Map.prototype, name, own)
  }
  return count
}
