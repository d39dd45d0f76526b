/** The stages of one kind, one of which is chosen for an object. */

import type { StageSubject } from './expressions.ts'
import type { LifecycleStage } from './stage.ts'

/** The stage that comes next: one of those that match, by their weights. Those without a weight are
 *  left out where another one has some; if none has, all are as likely. */
export function chooseStage(
  stages: readonly LifecycleStage[],
  subject: StageSubject,
  draw: () => number,
): LifecycleStage | undefined {
  const matching = stages.filter(stage => stage.matches(subject))
  if (matching.length <= 1) return matching[0]
  const weights = matching.map(stage => stage.weight(subject))
  const total = weights.reduce<number>((sum, weight) => sum + Math.max(0, weight ?? 0), 0)
  if (total === 0) {
    const known = matching.filter((_, i) => weights[i] !== undefined)
    const those = known.length === 0 ? matching : known
    return those[Math.floor(draw() * those.length)]
  }
  let left = draw() * total
  return matching.find((_, i) => {
    left -= Math.max(0, weights[i] ?? 0)
    return (weights[i] ?? 0) > 0 && left < 0
  })
}
