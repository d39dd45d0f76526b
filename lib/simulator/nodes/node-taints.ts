/** The taints that a node has because of how it is, as the controller of nodes' lifecycles sets
 *  them: pods that do not tolerate them go nowhere near it, or leave after a while. */

import type { NodeObject, Taint } from '../runtime/objects.ts'

const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'

/** The taint is one of those. */
export function isOfState({ key }: Taint): boolean {
  return key === notReady || key === unreachable
}

/** The taints of the node; undefined if it has them. A node that has never said how it is keeps
 *  those that it was created with. */
export function taintsOf({ spec, status }: NodeObject, now: string): readonly Taint[] | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status
  if (ready === undefined) return undefined
  const key = { True: undefined, False: notReady }[ready as 'True' | 'False'] ?? unreachable
  const wanted = ready === 'True' ? [] : [key]
  const known = spec?.taints ?? []
  const effects = ['NoSchedule', 'NoExecute'] as const
  const isWanted = (taint: Taint): boolean => wanted.includes(taint.key)
  const kept = known.filter(taint => !isOfState(taint) || isWanted(taint))
  const added = wanted.flatMap(name =>
    effects
      .filter(effect => !kept.some(taint => taint.key === name && taint.effect === effect))
      .map(effect => ({ key: name, effect, timeAdded: now })),
  )
  if (kept.length === known.length && added.length === 0) return undefined
  return [...kept, ...added]
}
