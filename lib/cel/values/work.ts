/** The work of a run beside the cost that Kubernetes counts: that knows nothing of how long most
 *  texts and lists are that a call looks at, nor of the states of a pattern. `size()` of a
 *  megabyte costs 1, as often as a loop asks for it.
 *
 *  A unit is a state of a pattern that is followed: 150 ns. */

import { CostExceeded } from './errors.ts'

/** Work of one run: 0.3 s. */
export const runWorkMax = 2_000_000

/** No run is under way: what is made when an expression is compiled is bounded by its length. */
const unbounded = Infinity
let left = unbounded

/** Takes work of the run that is under way. */
export function spendWork(units: number): void {
  left -= units
  if (left < 0) throw new CostExceeded()
}

/** The work to look at each of so many characters or bytes once. */
export const ofChars = (count: number): number => count / 64

/** The work to look at each of so many items. */
export const ofItems = (count: number): number => count / 4

/** Begins a run: within another one, it takes of what that one has left. Returns what `endWork` is
 *  given in the end. */
export function beginWork(): number {
  const before = left
  if (before === unbounded) left = runWorkMax
  return before
}

/** Ends a run, and returns its work; what a run within another one did belongs to that one. */
export function endWork(before: number): number {
  if (before !== unbounded) return 0
  // What was too much has not been done.
  const done = Math.min(runWorkMax, runWorkMax - left)
  left = unbounded
  return done
}
